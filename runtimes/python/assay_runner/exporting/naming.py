"""What a graph owns: the names of its inputs, and its constants."""

from __future__ import annotations

from collections.abc import Collection

import onnx_ir


def settle(model: onnx_ir.Model, names: Collection[str]) -> None:
    """Settles a graph's inputs and constants."""
    _own_constants(model)
    _own_inputs(model, names)


def _own_constants(model: onnx_ir.Model) -> None:
    """Lets the graph hold constants that a node uses and nothing holds: onnxscript's optimizer can leave some behind
    when it writes Min and Max as Clip, and no engine loads such a graph."""
    held = set(model.graph.initializers)
    for node in model.graph.all_nodes():
        for value in node.inputs:
            if value is None or value.const_value is None or value.producer() or value.is_graph_input():
                continue
            if value.name and value.name not in held:
                model.graph.register_initializer(value)
                held.add(value.name)


def _own_inputs(model: onnx_ir.Model, names: Collection[str]) -> None:
    """Gives inputs their own names back where transformers' exporter put "input." before them, an output having the
    same name (which it calls "output." and the name), and leaves those out that nothing uses."""
    for value in list(model.graph.inputs):
        own = (value.name or "").removeprefix("input.")
        if own in names:
            value.name = own
        if not value.uses() and not value.is_graph_output():
            model.graph.inputs.remove(value)

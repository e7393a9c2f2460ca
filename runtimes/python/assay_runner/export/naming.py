"""The names of a graph's inputs."""

from __future__ import annotations

from collections.abc import Collection

import onnx_ir


def settle(model: onnx_ir.Model, names: Collection[str]) -> None:
    """Gives inputs their own names back where transformers' exporter put "input." before them, an output having the
    same name (which it calls "output." and the name), and leaves those out that nothing uses."""
    for value in list(model.graph.inputs):
        own = (value.name or "").removeprefix("input.")
        if own in names:
            value.name = own
        if not value.uses() and not value.is_graph_output():
            model.graph.inputs.remove(value)

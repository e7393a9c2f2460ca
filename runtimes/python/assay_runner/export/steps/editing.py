"""The few edits that steps are made of."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import onnx_ir


def graphs(model: onnx_ir.Model) -> Iterator[onnx_ir.Graph | onnx_ir.Function]:
    """The main graph and those of functions."""
    yield model.graph
    yield from model.functions.values()


def nodes(model: onnx_ir.Model, *operators: str) -> list[onnx_ir.Node]:
    """All nodes of ONNX's own operators with these names, subgraphs included, in order."""
    return [
        node
        for graph in graphs(model)
        for node in graph.all_nodes()
        if node.op_type in operators and node.domain in ("", "ai.onnx")
    ]


def constant(value: onnx_ir.Value | None) -> np.ndarray | None:
    """The array of an initializer or a Constant node; None for what is computed or given."""
    tensor = None if value is None or value.is_graph_input() else onnx_ir.convenience.get_const_tensor(value)
    return None if tensor is None else tensor.numpy()


def scalar(value: onnx_ir.Value | None) -> float | None:
    """The number of a constant of one element."""
    found = constant(value)
    return float(found.reshape(())) if found is not None and found.size == 1 else None


def before(
    node: onnx_ir.Node,
    operator: str,
    inputs: Sequence[onnx_ir.Value | None],
    attributes: Mapping[str, Any] | None = None,
    like: onnx_ir.Value | None = None,
) -> onnx_ir.Value:
    """Puts a new node before another one and gives its output, whose shape and dtype are those of `like`, else of the
    other one's output."""
    made = onnx_ir.node(operator, inputs, attributes)
    like = like or node.outputs[0]
    made.outputs[0].shape, made.outputs[0].dtype = like.shape, like.dtype
    node.graph.insert_before(node, made)
    return made.outputs[0]


def replace(
    node: onnx_ir.Node,
    operator: str,
    inputs: Sequence[onnx_ir.Value | None],
    attributes: Mapping[str, Any] | None = None,
) -> onnx_ir.Value:
    """Puts a new node in the place of one with a single output, which keeps its name."""
    value = before(node, operator, inputs, attributes)
    take_place(node.outputs[0], value)
    node.graph.remove(node, safe=True)
    return value


def take_place(old: onnx_ir.Value, new: onnx_ir.Value) -> None:
    """Lets every user of a value, the graph's outputs included, use another one instead."""
    name, old.name = old.name, f"{old.name}.before"
    if old.is_graph_output():
        new.name = name
    old.replace_all_uses_with(new, replace_graph_outputs=True)

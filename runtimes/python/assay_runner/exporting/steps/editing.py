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
    shape: Sequence[int] | None = None,
    dtype: onnx_ir.DataType | None = None,
) -> onnx_ir.Value:
    """Puts a new node before another one and gives its output, which is of the other one's shape and dtype unless it is
    said to be of another."""
    made = onnx_ir.node(operator, inputs, attributes)
    made.outputs[0].shape = node.outputs[0].shape if shape is None else onnx_ir.Shape(shape)
    made.outputs[0].dtype = dtype or node.outputs[0].dtype
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


def known(graph: onnx_ir.Graph, array: np.ndarray, like: onnx_ir.Value) -> onnx_ir.Value:
    """A new constant of a graph, named after a value."""
    name = f"{like.name}.known"
    while name in graph.initializers:
        name += "+"
    value = onnx_ir.val(name, const_value=onnx_ir.tensor(np.asarray(array, order="C"), name=name))
    graph.register_initializer(value)
    return value


def shape(value: onnx_ir.Value | None) -> tuple[int, ...] | None:
    """A value's shape where every axis of it is known."""
    if value is None or value.shape is None or not all(isinstance(size, int) for size in value.shape):
        return None
    return tuple(value.shape)


def producer(value: onnx_ir.Value | None, *operators: str) -> onnx_ir.Node | None:
    """The node that makes a value, where it is one of these operators."""
    node = None if value is None else value.producer()
    return node if node is not None and node.op_type in operators and node.domain in ("", "ai.onnx") else None


def bypass(node: onnx_ir.Node) -> bool:
    """Lets the users of a node's output use its first input, and removes it. A node that gives a graph's input, a
    constant or another output of the graph as an output stays: that output would have no name of its own."""
    source, target = node.inputs[0], node.outputs[0]
    if target.is_graph_output() and (source.producer() is None or source.is_graph_output()):
        return False
    take_place(target, source)
    node.graph.remove(node, safe=True)
    return True


def bypass_to(node: onnx_ir.Node, value: onnx_ir.Value) -> bool:
    """Lets the users of a node's output use another value, and removes it; not where it is an output of the graph."""
    if node.outputs[0].is_graph_output():
        return False
    take_place(node.outputs[0], value)
    node.graph.remove(node, safe=True)
    return True

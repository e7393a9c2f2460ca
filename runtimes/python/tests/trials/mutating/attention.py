"""Faults of attention: heads in another order, keys that are turned as if they stood elsewhere."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import onnx_ir

from assay_runner.exporting.steps import editing

from .finding import Graph, Lacking, insert, is_float

_SHAPING = frozenset(
    "Reshape Transpose Slice Unsqueeze Squeeze Expand Concat Cast Identity Gather Split Add Sub Mul Neg".split()
)
_FORMING = frozenset(
    "Reshape Transpose Slice Unsqueeze Squeeze Expand Concat Cast Identity Gather Split ScatterElements Where".split()
)
_KEYS = 1  # the operand of a product of queries and keys


def heads_swapped(graph: Graph) -> None:
    """One projection has the weights of its first two heads in each other's place."""
    node, index, axis, size = graph.one_of(list(_projections(graph)), "projection to heads")
    array = np.moveaxis(editing.constant(node.inputs[index]).copy(), axis, 0)
    first, second = array[:size].copy(), array[size : 2 * size].copy()
    array[:size], array[size : 2 * size] = second, first
    graph.give(node, index, np.ascontiguousarray(np.moveaxis(array, 0, axis)))


def _projections(graph: Graph) -> Iterator[tuple[onnx_ir.Node, int, int, int]]:
    """Products whose result is split into heads: the node, its weight, the weight's axis of outputs, a head's size."""
    for node in graph.nodes("Reshape"):
        shape = editing.shape(node.outputs[0])
        before = editing.shape(node.inputs[0])
        if shape is None or before is None or len(shape) < 4 or len(shape) <= len(before) or shape[-2] < 2:
            continue
        product = _product(node.inputs[0])
        if product is None or shape[-1] == before[-1]:
            continue
        weight = editing.constant(product.inputs[1])
        turned = "transB" in product.attributes and product.attributes["transB"].as_int() == 1
        axis = 0 if turned else -1
        if is_float(weight) and weight.ndim == 2 and weight.shape[axis] % (shape[-1] * 2) == 0:
            yield product, 1, axis, shape[-1]


def _product(value: onnx_ir.Value | None) -> onnx_ir.Node | None:
    """The product that a value comes from, or is the first part of, with or without a bias, a scale and a change of
    form between."""
    for _ in range(4):
        node = editing.producer(value, "MatMul", "Gemm", "Add", "Mul", "Reshape", "Split")
        if node is None or node.op_type in ("MatMul", "Gemm"):
            return node
        if node.op_type == "Split" and value is not node.outputs[0]:
            return None
        value = next((v for v in node.inputs if editing.constant(v) is None), None)
    return None


def rotary_off_by_one(graph: Graph) -> None:
    """Keys are turned as if each stood one further, and the first where the last is."""
    users = list(_turning(graph))
    keys = [(node, i) for node, i in users if _KEYS in _operands(node)]
    done = 0
    for node, i in keys or users:
        done += _rolled(graph, node, i)
    if not done:
        raise Lacking("no rotary positions")


def _turning(graph: Graph) -> Iterator[tuple[onnx_ir.Node, int]]:
    """The products with a cosine or a sine, and which of their inputs that is."""
    tables = _tables(graph)
    for node in graph.nodes("Mul"):
        for i, value in enumerate(node.inputs):
            if value in tables or (editing.constant(value) is None and _made_by(value, ("Cos", "Sin"))):
                yield node, i
                break


def _tables(graph: Graph) -> set[onnx_ir.Value]:
    """Constants that are cosines or sines of the same angles: their squares add up to the same number everywhere."""
    found: dict[tuple[int, ...], list[tuple[onnx_ir.Value, np.ndarray]]] = {}
    seen: set[onnx_ir.Value] = set()
    for node in graph.nodes("Mul"):
        for value in node.inputs:
            array = editing.constant(value)
            if value not in seen and is_float(array) and array.ndim >= 2 and _position_axis(array.shape) is not None:
                seen.add(value)
                found.setdefault(array.shape, []).append((value, array))
    return {v for rows in found.values() for i, one in enumerate(rows) for two in rows[i + 1 :] if _pair(one[1], two[1])
            for v in (one[0], two[0])}  # fmt: skip


def _pair(one: np.ndarray, two: np.ndarray) -> bool:
    total = one.astype(np.float64) ** 2 + two.astype(np.float64) ** 2
    return bool(total.max() > 0 and np.ptp(total) < 1e-4 * total.max() and np.ptp(one) > 1e-3)


def _made_by(value: onnx_ir.Value, operators: tuple[str, ...], depth: int = 12) -> bool:
    """Whether a value is what one of the operators gave, in another form."""
    node = value.producer()
    if node is None or depth == 0:
        return False
    if node.op_type in operators:
        return True
    inputs = {v for v in node.inputs if v is not None and editing.constant(v) is None}
    scaled = node.op_type == "Mul" and len(inputs) == 1
    return (scaled or node.op_type in _FORMING) and any(_made_by(v, operators, depth - 1) for v in inputs)


def _operands(node: onnx_ir.Node, depth: int = 16) -> set[int]:
    """Which operands of products the result of a node becomes."""
    found, front, seen = set(), {node}, {node}
    for _ in range(depth):
        users = [(user, i) for one in front for out in one.outputs for user, i in out.uses()]
        found |= {i for user, i in users if user.op_type == "MatMul"}
        front = {user for user, _ in users if user.op_type in _SHAPING} - seen
        seen |= front
    return found


def _position_axis(shape: tuple[int, ...] | None) -> int | None:
    """The axis of positions: the last one with several entries before that of features."""
    if shape is None or len(shape) < 2 or shape[-1] < 2:
        return None
    return next((axis for axis in range(len(shape) - 2, -1, -1) if shape[axis] > 1), None)


def _rolled(graph: Graph, node: onnx_ir.Node, index: int) -> int:
    value = node.inputs[index]
    array, shape = editing.constant(value), editing.shape(value)
    axis = _position_axis(shape if array is None else array.shape)
    if axis is None:
        return 0
    if array is not None:
        graph.give(node, index, np.roll(array, 1, axis))
        return 1
    order = np.roll(np.arange(shape[axis]), 1).astype(np.int64)
    made = insert(node, "Gather", [value, graph.constant(order, value)], value)
    made.producer().attributes["axis"] = onnx_ir.AttrInt64("axis", axis)
    node.replace_input_with(index, made)
    return 1

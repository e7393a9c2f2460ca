"""Faults of numbers: a bias that is lost, an epsilon that is another one, fewer bits than were asked for."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import onnx_ir

from assay_runner.exporting.steps import editing

from .finding import Graph, Lacking, insert, is_float

_BIASED = ("Gemm", "Conv", "ConvTranspose", "LayerNormalization")
_PRODUCTS = ("MatMul", "Gemm", "Conv", "ConvTranspose")
_EPSILON = "epsilon"
_SMALL = 1e-3  # more is no epsilon
_FACTOR = 1000


def bias_zeroed(graph: Graph) -> None:
    """One layer loses its bias: one that is not zero, where there is such."""
    found = list(_biases(graph))
    alive = [(node, i) for node, i in found if editing.constant(node.inputs[i]).any()]
    node, i = graph.one_of(alive or found[:1], "bias")
    graph.give(node, i, np.zeros_like(editing.constant(node.inputs[i])))


def _biases(graph: Graph) -> Iterator[tuple[onnx_ir.Node, int]]:
    """Nodes with the index of their input that is a bias."""
    for node in graph.nodes(*_BIASED, "Add"):
        if node.op_type in _BIASED:
            if len(node.inputs) > 2 and is_float(editing.constant(node.inputs[2])):
                yield node, 2
            continue
        for i, other in ((0, 1), (1, 0)):
            array = editing.constant(node.inputs[i])
            if is_float(array) and array.ndim == 1 and editing.producer(node.inputs[other], "MatMul"):
                yield node, i


def epsilon_grown(graph: Graph) -> None:
    """Every norm has a larger epsilon."""
    done = 0
    for node in graph.nodes(*{node.op_type for node in graph.model.graph.all_nodes()}):
        if _EPSILON in node.attributes:
            node.attributes[_EPSILON] = onnx_ir.AttrFloat32(_EPSILON, node.attributes[_EPSILON].as_float() * _FACTOR)
            done += 1
    for node in graph.nodes("Add"):
        if any(user.op_type in ("Sqrt", "Pow") for user, _ in node.outputs[0].uses()):
            done += _grown(graph, node)
    if not done:
        raise Lacking("no epsilon")


def _grown(graph: Graph, node: onnx_ir.Node) -> int:
    for i, value in enumerate(node.inputs):
        number = editing.scalar(value)
        if number is not None and 0 < number < _SMALL:
            graph.give(node, i, editing.constant(value) * np.float32(_FACTOR))
            return 1
    return 0


def half_precision(graph: Graph) -> None:
    """What products take and give has the bits of float16.

    Bits are taken away by arithmetic, since engines remove a Cast to fewer bits and back: of x, all but the first
    eleven bits are lost in c - (c - x) with c = 8193 x.
    """
    nodes = graph.nodes(*_PRODUCTS)
    for node in nodes:
        for i, value in enumerate(node.inputs):
            array = editing.constant(value)
            if is_float(array):
                graph.give(node, i, array.astype(np.float16).astype(np.float32))
            elif value is not None and value.dtype == onnx_ir.DataType.FLOAT:
                node.replace_input_with(i, _rounded(graph, node, value))
    if not nodes:
        raise Lacking("no product")


def _rounded(graph: Graph, node: onnx_ir.Node, value: onnx_ir.Value) -> onnx_ir.Value:
    factor = graph.constant(np.asarray(8193, np.float32), value)
    grown = insert(node, "Mul", [value, factor], value)
    rest = insert(node, "Sub", [grown, value], value)
    return insert(node, "Sub", [grown, rest], value)

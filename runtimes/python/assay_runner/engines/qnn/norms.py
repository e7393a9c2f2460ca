"""Norms whose squares stay in the range of fp16, and whose operands lie whole before them."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod, sqrt

import numpy as np
import onnx_ir

from assay_runner.exporting.steps import editing

_TINY = np.float32(np.finfo(np.float16).tiny)  # the smallest normal number of fp16
_SMALL = np.float32(2**-6)  # what is divided by it still has squares in fp16's range
_SHARE = np.float32(1 / 16)  # of a scale up to 65504: its reciprocal is a normal number of fp16


def scaled(model: onnx_ir.Model) -> int:
    """ReduceL2 becomes the norm of what is divided by its largest magnitude, times that: squares stay in fp16's range.
    Nothing but zeros is divided by the smallest normal number of fp16 instead."""
    done = 0
    for node in editing.nodes(model, "ReduceL2"):
        source = node.inputs[0]
        wide = editing.shape(source)
        if wide is None or source.dtype != onnx_ir.DataType.FLOAT or not node.attributes.get_int("keepdims", 1):
            continue
        axes = list(node.inputs[1:2])
        size = editing.before(node, "Abs", [source], shape=wide)
        largest = editing.before(node, "ReduceMax", [size, *axes], {"keepdims": 1})
        scale = editing.before(node, "Max", [largest, editing.known(node.graph, _TINY, node.outputs[0])])
        small = editing.before(node, "Div", [source, scale], shape=wide)
        norm = editing.before(node, "ReduceL2", [small, *axes], {"keepdims": 1})
        editing.replace(node, "Mul", [norm, scale])
        done += 1
    return done


def scaled_squares(model: onnx_ir.Model) -> int:
    """The root of a mean of squares becomes that of what is divided by its largest magnitude, times that."""
    done = 0
    for node in editing.nodes(model, "Sqrt"):
        mean, eps = _mean_and_eps(node.inputs[0])
        source = _squared(mean)
        if source is None or eps < 0 or not mean.attributes.get_int("keepdims", 1):
            continue
        _scale_squares(node, source, list(mean.inputs[1:2]), eps)
        done += 1
    return done


def _mean_and_eps(value: onnx_ir.Value) -> tuple[onnx_ir.Node | None, float]:
    """The mean under a root, and the number that is added to it."""
    total = editing.producer(value, "Add")
    if total is None:
        return editing.producer(value, "ReduceMean"), 0.0
    for place in (0, 1):
        eps = editing.scalar(total.inputs[place])
        if eps is not None:
            return editing.producer(total.inputs[1 - place], "ReduceMean"), eps
    return None, 0.0


def _squared(mean: onnx_ir.Node | None) -> onnx_ir.Value | None:
    """What a mean is of the squares of, where that is in fp32 and of a known shape."""
    product = None if mean is None else editing.producer(mean.inputs[0], "Mul")
    if product is None or product.inputs[0] is not product.inputs[1]:
        return None
    source = product.inputs[0]
    return source if source.dtype == onnx_ir.DataType.FLOAT and editing.shape(source) else None


def _scale_squares(node: onnx_ir.Node, source: onnx_ir.Value, axes: list[onnx_ir.Value], eps: float) -> None:
    wide = editing.shape(source)
    size = editing.before(node, "Abs", [source], shape=wide)
    largest = editing.before(node, "ReduceMax", [size, *axes], {"keepdims": 1})
    scale = editing.before(node, "Max", [largest, editing.known(node.graph, _SMALL, source)])
    share = editing.known(node.graph, _SHARE, source)
    part = editing.before(node, "Mul", [source, share], shape=wide)
    small = editing.before(node, "Div", [part, editing.before(node, "Mul", [scale, share])], shape=wide)
    square = editing.before(node, "Mul", [small, small], shape=wide)
    mean = editing.before(node, "ReduceMean", [square, *axes], {"keepdims": 1})
    if eps:  # its root is divided: the number itself and the square of the scale are outside of fp16's range
        root = editing.before(node, "Div", [editing.known(node.graph, np.float32(sqrt(eps)), source), scale])
        mean = editing.before(node, "Add", [mean, editing.before(node, "Mul", [root, root])])
    editing.replace(node, "Mul", [editing.before(node, "Sqrt", [mean]), scale])


def spread_operands(model: onnx_ir.Model) -> int:
    """The smaller operand of an Add or Mul before LayerNormalization is written out in the shape of the result."""
    done = 0
    for norm in editing.nodes(model, "LayerNormalization"):
        node = editing.producer(norm.inputs[0], "Add", "Mul")
        full = None if node is None else editing.shape(node.outputs[0])
        for index, value in enumerate(node.inputs if full else ()):
            if _spread_over_rows(editing.shape(value), full):
                node.replace_input_with(index, _spread(node, value, full))
                done += 1
    return done


def _spread_over_rows(shape: tuple[int, ...] | None, full: tuple[int, ...]) -> bool:
    """Whether an operand has several rows and is still smaller than the result."""
    return shape is not None and prod(shape[:-1]) > 1 and prod(shape) < prod(full)


def _spread(node: onnx_ir.Node, value: onnx_ir.Value, full: tuple[int, ...]) -> onnx_ir.Value:
    array = editing.constant(value)
    if array is not None:
        return editing.known(node.graph, np.broadcast_to(array, full), value)
    shape = (1,) * (len(full) - len(value.shape)) + tuple(value.shape)
    ranked = editing.before(node, "Reshape", [value, _numbers(node, shape)], shape=shape)
    times = [whole // part for whole, part in zip(full, shape, strict=True)]
    return editing.before(node, "Tile", [ranked, _numbers(node, times)], shape=full)


def _numbers(node: onnx_ir.Node, numbers: Sequence[int]) -> onnx_ir.Value:
    return editing.known(node.graph, np.asarray(numbers, np.int64), node.outputs[0])

"""Truth values: how they are made of numbers, and chosen."""

from __future__ import annotations

import numpy as np
import onnx_ir
from onnx_ir import DataType

from assay_runner.exporting.steps import editing


def compare(model: onnx_ir.Model) -> int:
    """Cast of numbers to booleans becomes a comparison: what does not equal zero is true."""
    done = 0
    for node in editing.nodes(model, "Cast"):
        source = node.inputs[0]
        if node.attributes.get_int("to") != DataType.BOOL or source.dtype in (None, DataType.BOOL):
            continue
        zero = editing.known(node.graph, np.zeros((), source.dtype.numpy()), node.outputs[0])
        nothing = editing.before(node, "Equal", [source, zero], dtype=DataType.BOOL)
        editing.replace(node, "Not", [nothing])
        done += 1
    return done


def choose(model: onnx_ir.Model) -> int:
    """Where of booleans becomes logic: both the condition and the one, or the other without it."""
    done = 0
    for node in editing.nodes(model, "Where"):
        condition, one, other = node.inputs
        if one.dtype != DataType.BOOL or editing.shape(node.outputs[0]) is None or editing.shape(condition) is None:
            continue
        without = editing.before(node, "Not", [condition], None, editing.shape(condition), DataType.BOOL)
        first = editing.before(node, "And", [condition, one])
        second = editing.before(node, "And", [without, other])
        editing.replace(node, "Or", [first, second])
        done += 1
    return done


def multiply(model: onnx_ir.Model) -> int:
    """And of tensors of different shapes becomes a product of zeros and ones."""
    done = 0
    for node in editing.nodes(model, "And"):
        shapes = [editing.shape(value) for value in (*node.inputs, node.outputs[0])]
        if None in shapes or shapes[0] == shapes[1]:
            continue
        one, other, target = shapes
        ones = [
            editing.before(node, "Cast", [value], {"to": DataType.FLOAT.value}, shape, DataType.FLOAT)
            for value, shape in zip(node.inputs, (one, other), strict=True)
        ]
        product = editing.before(node, "Mul", ones, None, target, DataType.FLOAT)
        half = editing.known(node.graph, np.float32(0.5), node.outputs[0])
        editing.replace(node, "Greater", [product, half])
        done += 1
    return done

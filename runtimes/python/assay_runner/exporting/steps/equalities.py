"""Truth values that are compared."""

from __future__ import annotations

import onnx_ir
from onnx_ir import DataType

from assay_runner.exporting.steps import editing


def compare_numbers(model: onnx_ir.Model) -> int:
    """Equal of truth values becomes the other one where one of them is true and a Not where it is false, and else the
    same of whole numbers of 32 bits."""
    done = 0
    for node in editing.nodes(model, "Equal"):
        if all(value is not None and value.dtype == DataType.BOOL for value in node.inputs):
            _compared(node)
            done += 1
    return done


def _compared(node: onnx_ir.Node) -> None:
    for place in (0, 1):
        given, other = editing.constant(node.inputs[place]), node.inputs[1 - place]
        if given is not None and given.size == 1 and _as_large(other, node.outputs[0]):
            editing.replace(node, "Identity" if given.all() else "Not", [other])
            return
    editing.replace(node, "Equal", [_number(node, value) for value in node.inputs])


def _as_large(value: onnx_ir.Value, target: onnx_ir.Value) -> bool:
    size = editing.shape(value)
    return size is not None and size == editing.shape(target)


def _number(node: onnx_ir.Node, value: onnx_ir.Value) -> onnx_ir.Value:
    made = editing.before(node, "Cast", [value], {"to": DataType.INT32}, dtype=DataType.INT32)
    made.shape = value.shape
    return made

"""Truth values that are joined."""

from __future__ import annotations

import onnx_ir
from onnx_ir import DataType

from assay_runner.exporting.steps import editing


def join_as_numbers(model: onnx_ir.Model) -> int:
    """Concat of booleans becomes one of whole numbers of 32 bits, of which what is not zero is true."""
    done = 0
    for node in editing.nodes(model, "Concat"):
        if node.outputs[0].dtype != DataType.BOOL or any(editing.shape(value) is None for value in node.inputs):
            continue
        numbers = [_number(node, value) for value in node.inputs]
        joined = editing.before(
            node, "Concat", numbers, {"axis": node.attributes.get_int("axis")}, dtype=DataType.INT32
        )
        editing.replace(node, "Cast", [joined], {"to": DataType.BOOL})
        done += 1
    return done


def _number(node: onnx_ir.Node, value: onnx_ir.Value) -> onnx_ir.Value:
    return editing.before(node, "Cast", [value], {"to": DataType.INT32}, editing.shape(value), DataType.INT32)

"""Remainders of integers."""

from __future__ import annotations

import onnx_ir

from assay_runner.exporting.steps import editing

_SIGNED = (onnx_ir.DataType.INT32, onnx_ir.DataType.INT64)


def by_quotients(model: onnx_ir.Model) -> int:
    """Mod(x, d) of whole numbers becomes x - x / d · d, twice: the first has the sign of x, and d is added to it before
    the second, whose sign is then that of d."""
    done = 0
    for node in editing.nodes(model, "Mod"):
        value, divisor = node.inputs
        if value.dtype not in _SIGNED or node.attributes.get_int("fmod", 0):
            continue
        above = editing.before(node, "Add", [_rest(node, value, divisor), divisor])
        quotient = editing.before(node, "Div", [above, divisor])
        editing.replace(node, "Sub", [above, editing.before(node, "Mul", [quotient, divisor])])
        done += 1
    return done


def _rest(node: onnx_ir.Node, value: onnx_ir.Value, divisor: onnx_ir.Value) -> onnx_ir.Value:
    quotient = editing.before(node, "Div", [value, divisor])
    return editing.before(node, "Sub", [value, editing.before(node, "Mul", [quotient, divisor])])

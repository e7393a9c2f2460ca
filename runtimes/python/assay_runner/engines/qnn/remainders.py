"""Remainders of integers."""

from __future__ import annotations

import onnx_ir

from assay_runner.exporting.steps import editing


def by_quotients(model: onnx_ir.Model) -> int:
    """Mod(x, d) of whole numbers, by constants above zero, becomes x - x / d · d, twice: the first is below zero where
    x is, and d is added to it before the second."""
    done = 0
    for node in editing.nodes(model, "Mod"):
        value, divisor = node.inputs
        numbers = editing.constant(divisor)
        if (
            numbers is None
            or numbers.dtype.kind != "i"
            or not (numbers > 0).all()
            or node.attributes.get_int("fmod", 0)
        ):
            continue
        above = editing.before(node, "Add", [_rest(node, value, divisor), divisor])
        quotient = editing.before(node, "Div", [above, divisor])
        editing.replace(node, "Sub", [above, editing.before(node, "Mul", [quotient, divisor])])
        done += 1
    return done


def _rest(node: onnx_ir.Node, value: onnx_ir.Value, divisor: onnx_ir.Value) -> onnx_ir.Value:
    quotient = editing.before(node, "Div", [value, divisor])
    return editing.before(node, "Sub", [value, editing.before(node, "Mul", [quotient, divisor])])

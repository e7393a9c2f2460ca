"""Powers by small integers, and by one half."""

from __future__ import annotations

import onnx_ir

from assay_runner.exporting.steps import editing

_PRODUCTS = {2.0: 1, 3.0: 2}  # exponent: how many products replace it


def to_products(model: onnx_ir.Model) -> int:
    """Pow(x, 2) becomes Mul(x, x), Pow(x, 3) two of them, Pow(x, 0.5) Sqrt(x)."""
    done = 0
    for node in editing.nodes(model, "Pow"):
        base, exponent = node.inputs[0], editing.scalar(node.inputs[1])
        if base is None or exponent is None or base.dtype is None or not base.dtype.is_floating_point():
            continue
        if exponent == 0.5:
            editing.replace(node, "Sqrt", [base])
        elif exponent in _PRODUCTS:
            value = base
            for _ in range(_PRODUCTS[exponent] - 1):
                value = editing.before(node, "Mul", [value, base])
            editing.replace(node, "Mul", [value, base])
        else:
            continue
        done += 1
    return done

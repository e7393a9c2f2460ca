"""Comparisons with what may be no number."""

from __future__ import annotations

import onnx_ir

from assay_runner.exporting.steps import editing

_TURNED = {"Greater": "Less", "GreaterOrEqual": "LessOrEqual"}


def turn(model: onnx_ir.Model) -> int:
    """`a > b` becomes `b < a` where a quotient is compared: nothing divided by nothing is no number, and is neither
    greater nor less than any."""
    done = 0
    for node in editing.nodes(model, *_TURNED):
        left, right = node.inputs
        if editing.producer(left, "Div") or editing.producer(right, "Div"):
            editing.replace(node, _TURNED[node.op_type], [right, left])
            done += 1
    return done

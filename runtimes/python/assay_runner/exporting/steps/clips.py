"""Limits of integers."""

from __future__ import annotations

import onnx_ir

from assay_runner.exporting.steps import editing

_LIMITS = ("Max", "Min")  # in the order of Clip's inputs


def to_limits(model: onnx_ir.Model) -> int:
    """Clip of whole numbers becomes Max and Min."""
    done = 0
    for node in editing.nodes(model, "Clip"):
        value = node.inputs[0]
        limits = [(op, limit) for op, limit in zip(_LIMITS, node.inputs[1:], strict=False) if limit is not None]
        if value.dtype is None or value.dtype.is_floating_point() or not limits:
            continue
        for operator, limit in limits[:-1]:
            value = editing.before(node, operator, [value, limit])
        editing.replace(node, limits[-1][0], [value, limits[-1][1]])
        done += 1
    return done

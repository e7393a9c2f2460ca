"""Exponential functions of what is far below zero."""

from __future__ import annotations

import numpy as np
import onnx_ir

from assay_runner.exporting.steps import editing

_LEAST = np.float32(-80.0)  # its exponential is nothing beside fp16's smallest number, and still a number of fp32


def limited(model: onnx_ir.Model) -> int:
    """Exp(x) becomes Exp(Clip(x, -80))."""
    done = 0
    for node in editing.nodes(model, "Exp"):
        source = node.inputs[0]
        if source.dtype != onnx_ir.DataType.FLOAT:
            continue
        least = editing.known(node.graph, _LEAST, source)
        node.replace_input_with(0, editing.before(node, "Clip", [source, least]))
        done += 1
    return done


def softplus(model: onnx_ir.Model) -> int:
    """Softplus(x) becomes Relu(x) + Log(1 + Exp(-|x|)), which is the same."""
    done = 0
    for node in editing.nodes(model, "Softplus"):
        source = node.inputs[0]
        if source.dtype != onnx_ir.DataType.FLOAT:
            continue
        one, least = (editing.known(node.graph, n, source) for n in (np.float32(1), _LEAST))
        below = editing.before(node, "Neg", [editing.before(node, "Abs", [source])])
        part = editing.before(node, "Exp", [editing.before(node, "Clip", [below, least])])
        rest = editing.before(node, "Log", [editing.before(node, "Add", [part, one])])
        editing.replace(node, "Add", [editing.before(node, "Relu", [source]), rest])
        done += 1
    return done

"""Convolutions along one axis that keeps its length."""

from __future__ import annotations

import numpy as np
import onnx_ir

from assay_runner.exporting.steps import editing

WIDE = 9  # the smallest window that was seen to go wrong


def widen(model: onnx_ir.Model) -> int:
    """A wide window over one axis that has as much around it on both sides as keeps the axis its length becomes one
    element wider: a zero at its end, which meets one zero more."""
    done = 0
    for node in editing.nodes(model, "Conv"):
        weights, pads = editing.constant(node.inputs[1]), list(node.attributes.get_ints("pads", ()))
        if weights is None or weights.ndim != 3 or not _keeps_length(weights.shape[-1], pads, node):
            continue
        wider = np.concatenate([weights, np.zeros_like(weights[..., :1])], axis=-1)
        node.replace_input_with(1, editing.known(node.graph, wider, node.inputs[1]))
        node.attributes["kernel_shape"] = onnx_ir.AttrInt64s("kernel_shape", [wider.shape[-1]])
        node.attributes["pads"] = onnx_ir.AttrInt64s("pads", [pads[0], pads[1] + 1])
        done += 1
    return done


def _keeps_length(window: int, pads: list[int], node: onnx_ir.Node) -> bool:
    steps = [*node.attributes.get_ints("strides", ()), *node.attributes.get_ints("dilations", ())]
    return window >= WIDE and pads == [window // 2] * 2 and window % 2 == 1 and set(steps) <= {1}

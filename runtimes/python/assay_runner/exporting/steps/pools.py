"""Pools with a window that reaches over what there is."""

from __future__ import annotations

import onnx_ir

from assay_runner.exporting.steps import editing


def clip(model: onnx_ir.Model) -> int:
    """Makes a window no larger than the axis that it lies over. Models whose pooling is meant for one image size have
    such windows on smaller images: the rest of the window lies outside and counts nothing, but engines refuse it."""
    done = 0
    for node in editing.nodes(model, "AveragePool", "MaxPool"):
        source = editing.shape(node.inputs[0])
        if source is None or len(node.outputs) > 1 or _outside(node):
            continue
        window, sizes = node.attributes["kernel_shape"].as_ints(), source[2:]
        clipped = [min(length, size) for length, size in zip(window, sizes, strict=True)]
        if clipped != list(window):
            node.attributes["kernel_shape"] = onnx_ir.AttrInt64s("kernel_shape", clipped)
            done += 1
    return done


def _outside(node: onnx_ir.Node) -> bool:
    """Whether a pool also reads before or behind its input, or with gaps: such a window is not as simply clipped."""
    padded = any(node.attributes.get_ints("pads", None) or ())
    spread = any(gap != 1 for gap in node.attributes.get_ints("dilations", None) or ())
    return padded or spread or node.attributes.get_string("auto_pad", "NOTSET") != "NOTSET"

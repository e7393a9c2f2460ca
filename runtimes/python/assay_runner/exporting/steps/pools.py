"""Pools with a window that reaches over what there is, and pools over what was padded with zeros."""

from __future__ import annotations

import numpy as np
import onnx_ir

from assay_runner.exporting.steps import editing, wraps


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


def join_zeros(model: onnx_ir.Model) -> int:
    """Zeros that are padded before a largest value is taken become parts of a Concat. What a pool pads itself counts
    nothing, and zeros are larger than what is below them."""
    done = 0
    for node in editing.nodes(model, "Pad"):
        source, widths = editing.shape(node.inputs[0]), wraps.widths_of(node)
        if source is None or widths is None or node.inputs[0].dtype is None or not (_zeros(node) and _pooled(node)):
            continue
        if any(width < 0 for ends in widths.values() for width in ends) or editing.producer(node.inputs[0], "Relu"):
            continue
        editing.replace(node, "Identity", [_joined(node, list(source), widths)])
        done += 1
    return done


def _zeros(node: onnx_ir.Node) -> bool:
    given = node.inputs[2] if len(node.inputs) > 2 else None
    constant = node.attributes.get_string("mode", "constant") == "constant"
    return constant and (given is None or editing.scalar(given) == 0)


def _pooled(node: onnx_ir.Node) -> bool:
    return any(use.node.op_type == "MaxPool" for use in node.outputs[0].uses())


def _joined(node: onnx_ir.Node, shape: list[int], widths: dict[int, tuple[int, int]]) -> onnx_ir.Value:
    value = node.inputs[0]
    for axis, ends in widths.items():
        before, behind = (_block(node, shape, axis, width) for width in ends)
        if not before and not behind:
            continue
        shape[axis] += sum(ends)
        value = editing.before(node, "Concat", [*before, value, *behind], {"axis": axis}, shape=shape)
    return value


def _block(node: onnx_ir.Node, shape: list[int], axis: int, width: int) -> list[onnx_ir.Value]:
    """Zeros to put at one end of an axis, if any."""
    zeros = np.zeros([*shape[:axis], width, *shape[axis + 1 :]], node.inputs[0].dtype.numpy())
    return [editing.known(node.graph, zeros, node.outputs[0])] if width else []

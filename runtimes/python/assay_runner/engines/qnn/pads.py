"""Pads of what is whole or true."""

from __future__ import annotations

import numpy as np
import onnx_ir

from assay_runner.exporting.steps import editing


def joined(model: onnx_ir.Model) -> int:
    """Pad of whole numbers and truth values with a constant becomes a join with constants, axis by axis."""
    done = 0
    for node in editing.nodes(model, "Pad"):
        source, sizes, pads = node.inputs[0], editing.shape(node.inputs[0]), editing.constant(node.inputs[1])
        fill, axes = _filled(node), _axes(node)
        if source.dtype is None or source.dtype.is_floating_point() or sizes is None or pads is None or axes is None:
            continue
        if fill is None or node.attributes.get_string("mode", "constant") != "constant" or (pads < 0).any():
            continue
        _join(node, list(sizes), zip(axes, pads[: len(axes)], pads[len(axes) :], strict=True), fill)
        done += 1
    return done


def _filled(node: onnx_ir.Node) -> np.ndarray | None:
    """What it is padded with."""
    if len(node.inputs) < 3 or node.inputs[2] is None:
        return np.zeros((), node.inputs[0].dtype.numpy()) if node.inputs[0].dtype else None
    return editing.constant(node.inputs[2])


def _axes(node: onnx_ir.Node) -> list[int] | None:
    if len(node.inputs) > 3 and node.inputs[3] is not None:
        given = editing.constant(node.inputs[3])
        return None if given is None else [int(axis) for axis in given]
    shape = node.inputs[0].shape
    return None if shape is None else list(range(len(shape)))


def _join(node: onnx_ir.Node, shape: list[int], rows: zip, fill: np.ndarray) -> None:
    value = node.inputs[0]
    for axis, before, after in rows:
        parts = [_constant(node, shape, axis, int(n), fill) for n in (before, after)]
        around = [part for part in (parts[0], value, parts[1]) if part is not None]
        if len(around) > 1:
            shape[axis] += int(before) + int(after)
            value = editing.before(node, "Concat", around, {"axis": axis}, shape)
    editing.replace(node, "Identity", [value])


def _constant(node: onnx_ir.Node, shape: list[int], axis: int, count: int, fill: np.ndarray) -> onnx_ir.Value | None:
    if not count:
        return None
    size = [*shape[:axis], count, *shape[axis:][1:]]
    return editing.known(node.graph, np.full(size, fill.reshape(())), node.outputs[0])

"""Pads that continue with the other end."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import onnx_ir

from assay_runner.exporting.steps import editing


def to_slices(model: onnx_ir.Model) -> int:
    """Pad in the mode `wrap`, as a circular convolution has it, becomes Concat of the input and slices of its ends."""
    done = 0
    for node in editing.nodes(model, "Pad"):
        if node.attributes.get_string("mode", "constant") != "wrap":
            continue
        source, widths = editing.shape(node.inputs[0]), widths_of(node)
        if source is None or widths is None or not all(_fits(source[axis], *ends) for axis, ends in widths.items()):
            continue
        _rewrite(node, list(source), {axis: ends for axis, ends in widths.items() if any(ends)})
        done += 1
    return done


def widths_of(node: onnx_ir.Node) -> dict[int, tuple[int, int]] | None:
    """By axis, how much stands before it and behind it; None where that is computed or the rank not known."""
    pads, rank = editing.constant(node.inputs[1]), len(node.inputs[0].shape or ())
    chosen = node.inputs[3] if len(node.inputs) > 3 else None
    axes = editing.constant(chosen) if chosen is not None else np.arange(rank)
    if pads is None or axes is None or not rank:
        return None
    starts, ends = pads.reshape(2, -1).tolist()
    return {int(axis) % rank: ends for axis, *ends in zip(axes, starts, ends, strict=True)}


def _fits(size: int, start: int, end: int) -> bool:
    return 0 <= start <= size and 0 <= end <= size


def _rewrite(node: onnx_ir.Node, shape: list[int], widths: dict[int, tuple[int, int]]) -> None:
    value = node.inputs[0]
    for axis, ends in widths.items():
        parts = list(_parts(node, value, shape, axis, ends))
        shape[axis] += sum(ends)
        value = editing.before(node, "Concat", parts, {"axis": axis}, shape=shape)
    editing.replace(node, "Identity", [value])


def _parts(
    node: onnx_ir.Node, value: onnx_ir.Value, shape: list[int], axis: int, ends: tuple[int, int]
) -> Iterator[onnx_ir.Value]:
    """The last elements of an axis, all of them, and the first ones."""
    size, (start, end) = shape[axis], ends
    if start:
        yield _slice(node, value, shape, axis, (size - start, size))
    yield value
    if end:
        yield _slice(node, value, shape, axis, (0, end))


def _slice(
    node: onnx_ir.Node, value: onnx_ir.Value, shape: list[int], axis: int, bounds: tuple[int, int]
) -> onnx_ir.Value:
    limits = [editing.known(node.graph, np.asarray([bound], np.int64), node.outputs[0]) for bound in (*bounds, axis)]
    cut = [*shape[:axis], bounds[1] - bounds[0], *shape[axis + 1 :]]
    return editing.before(node, "Slice", [value, *limits], shape=cut)

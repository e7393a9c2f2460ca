"""Scattering without the operator for it: what is scattered is chosen by comparing the indices with every place
along the axis. WebNN takes few forms of indices, and the HTP few of the operator."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np
import onnx_ir

from assay_runner.exporting.steps import editing

_MOST_COMPARED = 1 << 24  # elements: beyond it comparing with every place costs more than leaving the node over
_BOOL, _INT32, _FLOAT = onnx_ir.DataType.BOOL, onnx_ir.DataType.INT32, onnx_ir.DataType.FLOAT


def rows_to_choices(model: onnx_ir.Model) -> int:
    """ScatterElements of one whole row along an axis, whose place is known, becomes a choice between the row and what
    was there."""
    done = 0
    for node in editing.nodes(model, "ScatterElements"):
        data, index, row = node.inputs
        sizes, given, places = editing.shape(data), editing.shape(index), editing.constant(index)
        if (
            sizes is None
            or given is None
            or places is None
            or node.attributes.get_string("reduction", "none") != "none"
        ):
            continue
        axis = node.attributes.get_int("axis", 0) % len(sizes)
        if list(given) != [1 if i == axis else size for i, size in enumerate(sizes)] or places.min() != places.max():
            continue
        chosen = np.arange(sizes[axis]) == places.flat[0] % sizes[axis]
        mask = chosen.reshape([-1 if i == axis else 1 for i in range(len(sizes))])
        _choose(node, mask, row, data, sizes)
        done += 1
    return done


def _choose(
    node: onnx_ir.Node, mask: np.ndarray, row: onnx_ir.Value, data: onnx_ir.Value, sizes: Sequence[int]
) -> None:
    like = node.outputs[0]
    chosen = editing.known(node.graph, mask, like)
    if data.dtype != _BOOL:
        editing.replace(node, "Where", [chosen, row, data])
        return
    # ONNX Runtime has no Where of truth values.
    new = editing.before(node, "And", [chosen, row], shape=sizes, dtype=_BOOL)
    old = editing.before(node, "And", [editing.known(node.graph, ~mask, like), data], shape=sizes, dtype=_BOOL)
    editing.replace(node, "Or", [new, old])


def counted_from_the_start(
    node: onnx_ir.Node, index: onnx_ir.Value, size: int | Sequence[int], shape: Sequence[int]
) -> onnx_ir.Value:
    """Indices with those that count from the end made to count from the start."""
    kind, like = index.dtype, node.outputs[0]
    dtype = kind.numpy()
    zero = editing.known(node.graph, np.zeros((), dtype), like)
    around = editing.known(node.graph, np.asarray(size, dtype), like)
    negative = editing.before(node, "Less", [index, zero], shape=shape, dtype=_BOOL)
    moved = editing.before(node, "Add", [index, around], shape=shape, dtype=kind)
    return editing.before(node, "Where", [negative, moved, index], shape=shape, dtype=kind)


def by_comparing(model: onnx_ir.Model) -> int:
    """ScatterElements becomes comparisons, a sum and a choice. Indices that name a place twice have
    no meaning in ONNX unless updates are added up."""
    done = 0
    for node in editing.nodes(model, "ScatterElements"):
        data, index = node.inputs[:2]
        sizes, given = editing.shape(data), editing.shape(index)
        how = node.attributes.get_string("reduction", "none")
        if sizes is None or given is None or how not in ("none", "add"):
            continue
        axis = node.attributes.get_int("axis", 0) % len(sizes)
        if [*given[:axis], *given[axis + 1 :]] != [*sizes[:axis], *sizes[axis + 1 :]]:
            continue
        if prod(given) * sizes[axis] > _MOST_COMPARED:
            continue
        _scattered(node, axis, sizes, given, how)
        done += 1
    return done


def _scattered(node: onnx_ir.Node, axis: int, sizes: Sequence[int], given: Sequence[int], how: str) -> None:
    data, index, updates = node.inputs
    like, kind = node.outputs[0], data.dtype
    if kind == _BOOL:  # truth values are not added up
        kind = _FLOAT
        data = editing.before(node, "Cast", [data], {"to": kind.value}, sizes, kind)
        updates = editing.before(node, "Cast", [updates], {"to": kind.value}, given, kind)
    index = counted_from_the_start(node, index, sizes[axis], given)
    # One axis more, before the scattered one: which of the updates.
    wide = [*given[:axis], given[axis], 1, *given[axis + 1 :]]
    met = [*given[:axis], given[axis], sizes[axis], *given[axis + 1 :]]
    order = np.arange(sizes[axis], dtype=index.dtype.numpy())
    places = editing.known(node.graph, order.reshape([-1 if i == axis + 1 else 1 for i in range(len(wide))]), like)
    target = editing.known(node.graph, np.asarray(wide, np.int64), like)
    index = editing.before(node, "Reshape", [index, target], shape=wide, dtype=index.dtype)
    updates = editing.before(node, "Reshape", [updates, target], shape=wide, dtype=kind)
    hits = editing.before(node, "Equal", [index, places], shape=met, dtype=_BOOL)
    nothing = editing.known(node.graph, np.zeros((), kind.numpy()), like)
    each = editing.before(node, "Where", [hits, updates, nothing], shape=met, dtype=kind)
    along = editing.known(node.graph, np.asarray([axis], np.int64), like)
    total = editing.before(node, "ReduceSum", [each, along], {"keepdims": 0}, sizes, kind)
    if how == "add":
        editing.replace(node, "Add", [data, total])
        return
    ones = editing.before(node, "Cast", [hits], {"to": _INT32.value}, met, _INT32)
    counted = editing.before(node, "ReduceMax", [ones, along], {"keepdims": 0}, sizes, _INT32)
    hit = editing.before(node, "Cast", [counted], {"to": _BOOL.value}, sizes, _BOOL)
    if like.dtype == kind:
        editing.replace(node, "Where", [hit, total, data])
        return
    chosen = editing.before(node, "Where", [hit, total, data], shape=sizes, dtype=kind)
    editing.replace(node, "Cast", [chosen], {"to": like.dtype.value})

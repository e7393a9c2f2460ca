"""Gathering and scattering single elements without the operators for it: WebNN takes few forms of their indices.

What is gathered is looked up in the flat tensor, by places computed of the indices. What is scattered is chosen by
comparing the indices with every place along the axis.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np
import onnx_ir

from assay_runner.exporting.steps import editing, gathers

_MOST_COMPARED = 1 << 24  # elements: beyond it comparing with every place costs more than leaving the node over
_BOOL, _INT32 = onnx_ir.DataType.BOOL, onnx_ir.DataType.INT32


def gather(model: onnx_ir.Model) -> int:
    """GatherElements becomes a Gather of the flat tensor."""
    done = 0
    for node in editing.nodes(model, "GatherElements"):
        data, index = node.inputs
        sizes, wanted = editing.shape(data), editing.shape(index)
        if sizes is None or wanted is None:
            continue
        axis = node.attributes.get_int("axis", 0) % len(sizes)
        places = _places(node, index, axis, sizes, wanted)
        editing.replace(node, "Gather", [gathers.table(node, len(sizes)), places], {"axis": 0})
        done += 1
    return done


def _places(
    node: onnx_ir.Node, index: onnx_ir.Value, axis: int, sizes: Sequence[int], wanted: Sequence[int]
) -> onnx_ir.Value:
    """Where each wanted element stands in the flat tensor."""
    kind, like = index.dtype, node.outputs[0]
    dtype = kind.numpy()
    strides = [prod(sizes[i + 1 :]) for i in range(len(sizes))]
    index = counted_from_the_start(node, index, sizes[axis], wanted)
    along = editing.known(node.graph, np.asarray(strides[axis], dtype), like)
    far = editing.before(node, "Mul", [index, along], shape=wanted, dtype=kind)
    grid = np.indices(wanted, dtype=np.int64)
    others = sum(grid[i] * strides[i] for i in range(len(sizes)) if i != axis) + np.zeros(wanted, np.int64)
    rest = editing.known(node.graph, others.astype(dtype), like)
    return editing.before(node, "Add", [far, rest], shape=wanted, dtype=kind)


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


def scatter(model: onnx_ir.Model) -> int:
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
        if prod(given) * sizes[axis] > _MOST_COMPARED or data.dtype == _BOOL:
            continue
        _scattered(node, axis, sizes, given, how)
        done += 1
    return done


def _scattered(node: onnx_ir.Node, axis: int, sizes: Sequence[int], given: Sequence[int], how: str) -> None:
    data, index, updates = node.inputs
    like, kind = node.outputs[0], data.dtype
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
    editing.replace(node, "Where", [hit, total, data])

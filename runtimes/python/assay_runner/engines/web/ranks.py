"""Sorting and choosing the largest by counting: WebNN has no such operator.

The rank of an element is how many come before it: those that are larger, and equal ones that stand earlier, as ONNX
orders them. The element of rank n is the n-th of the result.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np
import onnx_ir

from assay_runner.exporting.steps import editing

_MOST_COMPARED = 1 << 22  # pairs of elements: beyond it counting costs more than leaving the node over
_BOOL, _FLOAT, _INT32 = onnx_ir.DataType.BOOL, onnx_ir.DataType.FLOAT, onnx_ir.DataType.INT32


def count(model: onnx_ir.Model) -> int:
    """TopK along the last axis becomes comparisons and sums."""
    done = 0
    for node in editing.nodes(model, "TopK"):
        sizes, kept = editing.shape(node.inputs[0]), editing.scalar(node.inputs[1])
        if sizes is None or kept is None or node.inputs[0].dtype not in (_FLOAT, _INT32, onnx_ir.DataType.INT64):
            continue
        axis = node.attributes.get_int("axis", -1) % len(sizes)
        if axis != len(sizes) - 1 or prod(sizes) * sizes[-1] > _MOST_COMPARED:
            continue
        if any(output.is_graph_output() for output in node.outputs):
            continue
        _rewrite(node, sizes, int(kept))
        done += 1
    return done


def _rewrite(node: onnx_ir.Node, sizes: tuple[int, ...], kept: int) -> None:
    """Axes are those of the input but the last, then the place in the result, then the place in the input."""
    length, leading = sizes[-1], list(sizes[:-1])
    graph, like = node.graph, node.outputs[0]
    ranks = _ranks(node, leading, length)
    wanted = editing.known(graph, np.arange(kept, dtype=np.float32)[:, None], like)
    target = editing.known(graph, np.asarray([*leading, 1, length], np.int64), like)
    at = editing.before(node, "Reshape", [ranks, target], shape=[*leading, 1, length], dtype=_FLOAT)
    is_there = editing.before(node, "Equal", [at, wanted], shape=[*leading, kept, length], dtype=_BOOL)
    source = node.inputs[0]
    numbers = editing.before(node, "Reshape", [source, target], shape=[*leading, 1, length], dtype=source.dtype)
    places = editing.known(graph, np.arange(length, dtype=np.float32), like)
    values = _picked(node, is_there, numbers, source.dtype, [*leading, kept, length])
    found = _picked(node, is_there, places, _FLOAT, [*leading, kept, length])
    kind = node.outputs[1].dtype or onnx_ir.DataType.INT64
    index = editing.before(node, "Cast", [found], {"to": kind.value}, [*leading, kept], kind)
    editing.take_place(node.outputs[0], values)
    editing.take_place(node.outputs[1], index)
    graph.remove(node, safe=True)


def _ranks(node: onnx_ir.Node, leading: Sequence[int], length: int) -> onnx_ir.Value:
    """How many elements come before each one."""
    source, like = node.inputs[0], node.outputs[0]
    here, there = [*leading, length, 1], [*leading, 1, length]
    pairs = [*leading, length, length]

    def shaped(shape: list[int]) -> onnx_ir.Value:
        target = editing.known(node.graph, np.asarray(shape, np.int64), like)
        return editing.before(node, "Reshape", [source, target], shape=shape, dtype=source.dtype)

    one, other = shaped(here), shaped(there)
    operator = "Greater" if node.attributes.get_int("largest", 1) else "Less"
    ahead = editing.before(node, operator, [other, one], shape=pairs, dtype=_BOOL)
    same = editing.before(node, "Equal", [other, one], shape=pairs, dtype=_BOOL)
    earlier = editing.known(node.graph, np.tri(length, k=-1, dtype=np.float32), like)

    def number(truth: onnx_ir.Value) -> onnx_ir.Value:
        return editing.before(node, "Cast", [truth], {"to": _FLOAT.value}, pairs, _FLOAT)

    ties = editing.before(node, "Mul", [number(same), earlier], shape=pairs, dtype=_FLOAT)
    before = editing.before(node, "Add", [number(ahead), ties], shape=pairs, dtype=_FLOAT)
    return _summed(node, before, [*leading, length], _FLOAT)


def _picked(
    node: onnx_ir.Node, chosen: onnx_ir.Value, numbers: onnx_ir.Value, kind: Any, shape: Sequence[int]
) -> onnx_ir.Value:
    nothing = editing.known(node.graph, np.zeros((), kind.numpy()), node.outputs[0])
    alone = editing.before(node, "Where", [chosen, numbers, nothing], shape=shape, dtype=kind)
    return _summed(node, alone, shape[:-1], kind)


def _summed(node: onnx_ir.Node, value: onnx_ir.Value, shape: Sequence[int], kind: Any) -> onnx_ir.Value:
    last = editing.known(node.graph, np.asarray([-1], np.int64), node.outputs[0])
    return editing.before(node, "ReduceSum", [value, last], {"keepdims": 0}, shape, kind)

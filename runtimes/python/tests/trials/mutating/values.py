"""Faults of what goes in and comes out."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
import onnx_ir

from assay_runner.exporting.steps import editing

from .finding import Graph, Lacking

_MASK = re.compile(r"(.*_)?masks?")


def mask_ignored(graph: Graph) -> None:
    """Every mask that the graph takes counts as one that hides nothing."""
    done = 0
    for value in graph.model.graph.inputs:
        shape = editing.shape(value)
        if not _MASK.fullmatch(value.name or "") or shape is None or not value.uses():
            continue
        ones = graph.constant(np.ones(shape, value.dtype.numpy()), value)
        value.replace_all_uses_with(ones)
        done += 1
    if not done:
        raise Lacking("no mask")


def rows_swapped(graph: Graph) -> None:
    """The first output has its first row in the place of the last, and the last in that of the first."""
    for value, shape in zip(graph.model.graph.outputs, graph.outputs, strict=True):
        if shape and (axis := _axis(shape)) is not None:
            order = np.arange(shape[axis])
            order[0], order[-1] = order[-1], order[0]
            _gathered(graph, value, order, axis)
            return
    raise Lacking("no output with rows")


def _axis(shape: Sequence[int]) -> int | None:
    """The batch's axis where it has several rows, else the next one."""
    return next((axis for axis in (0, 1) if axis < len(shape) and shape[axis] > 1), None)


def _gathered(graph: Graph, value: onnx_ir.Value, order: np.ndarray, axis: int) -> None:
    made = onnx_ir.node("Gather", [value, graph.constant(order.astype(np.int64), value)], {"axis": axis})
    made.outputs[0].shape, made.outputs[0].dtype = value.shape, value.dtype
    graph.model.graph.append(made)
    index = graph.model.graph.outputs.index(value)
    made.outputs[0].name, value.name = value.name, f"{value.name}.before"
    graph.model.graph.outputs[index] = made.outputs[0]

"""Repeats along few axes."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np
import onnx_ir

from assay_runner.exporting.steps import editing

_MOST = 4  # axes that every accelerator has


def of_few_axes(model: onnx_ir.Model) -> int:
    """Tile of five axes and more becomes one of fewer, between two reshapes: an axis that is not repeated joins the one
    before it, whose repeats are then those of both."""
    done = 0
    for node in editing.nodes(model, "Tile"):
        shape, full = editing.shape(node.inputs[0]), editing.shape(node.outputs[0])
        if shape is None or full is None or len(shape) <= _MOST or not prod(shape):
            continue
        few, times = joined(shape, [whole // part for whole, part in zip(full, shape, strict=True)])
        if len(few) == len(shape):
            continue
        value = editing.before(node, "Reshape", [node.inputs[0], _numbers(node, few)], shape=few)
        repeated = [size * n for size, n in zip(few, times, strict=True)]
        value = editing.before(node, "Tile", [value, _numbers(node, times)], shape=repeated)
        editing.replace(node, "Reshape", [value, _numbers(node, full)])
        done += 1
    return done


def joined(shape: Sequence[int], times: Sequence[int]) -> tuple[list[int], list[int]]:
    """A shape and the repeats along it, with every axis that is not repeated joined to the one before it."""
    few: list[int] = []
    repeats: list[int] = []
    for size, n in zip(shape, times, strict=True):
        if few and n == 1:
            few[-1] *= size
        else:
            few.append(size)
            repeats.append(n)
    return few, repeats


def _numbers(node: onnx_ir.Node, numbers: Sequence[int]) -> onnx_ir.Value:
    return editing.known(node.graph, np.asarray(numbers, np.int64), node.outputs[0])

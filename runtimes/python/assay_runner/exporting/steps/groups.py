"""Products of rows that were sorted by expert.

Exporters write the grouped product of a mixture of experts as one slice of the rows and one product for each expert,
joined again. Where a slice begins and ends is known only when the model runs, so the slices have no shape, and an
accelerator that needs shapes leaves all of it to the CPU. Here each expert's product is of all rows, and of each row
the product by its own expert is kept: the same numbers, with more work and with fixed shapes.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np
import onnx_ir

from assay_runner.exporting.steps import editing

SHAPES = "accelerators need shapes, and an expert's rows are counted only when the model runs"
_BOOL = onnx_ir.DataType.BOOL


@dataclass(frozen=True)
class _Part:
    """The product of one expert: which rows it is of, and by which matrix."""

    product: onnx_ir.Node
    cut: onnx_ir.Node
    rows: onnx_ir.Value
    first: onnx_ir.Value
    end: onnx_ir.Value
    matrix: onnx_ir.Value


def over_all_rows(model: onnx_ir.Model) -> int:
    """Joined products of consecutive rows become a choice between products of all rows."""
    done = 0
    for node in editing.nodes(model, "Concat"):
        parts = [_part(value) for value in node.inputs]
        if node.attributes.get_int("axis", 0) not in (0, -2) or not _is_grouped(parts):
            continue
        _rewrite(node, parts)
        done += 1
    return done


def _part(value: onnx_ir.Value | None) -> _Part | None:
    product = editing.producer(value, "MatMul")
    cut = editing.producer(product.inputs[0], "Slice") if product is not None else None
    if cut is None or len(product.inputs[1].shape or ()) != 2 or not _is_of_rows(cut):
        return None
    return _Part(product, cut, cut.inputs[0], cut.inputs[1], cut.inputs[2], product.inputs[1])


def _is_of_rows(cut: onnx_ir.Node) -> bool:
    """Whether it is along the first of two axes, by steps of one."""
    sizes, axes = editing.shape(cut.inputs[0]), editing.constant(cut.inputs[3]) if len(cut.inputs) > 3 else None
    steps = editing.scalar(cut.inputs[4]) if len(cut.inputs) > 4 else 1.0
    return sizes is not None and len(sizes) == 2 and (axes is None or axes.tolist() == [0]) and steps == 1.0


def _is_grouped(parts: list[_Part | None]) -> bool:
    """Whether all are of the same rows, from the first one on, each beginning where the one before ended, and where
    that is was computed."""
    known = [part for part in parts if part is not None]
    if len(known) < max(2, len(parts)) or editing.scalar(known[0].first) != 0:
        return False
    same = all(part.rows is known[0].rows for part in known)
    follow = all(part.first is before.end for before, part in itertools.pairwise(known))
    return same and follow and editing.constant(known[0].end) is None


def _rewrite(node: onnx_ir.Node, parts: list[_Part]) -> None:
    rows, like = parts[0].rows, node.outputs[0]
    count = editing.shape(rows)[0]
    width = editing.shape(parts[0].matrix)[1]
    numbers = editing.known(node.graph, np.arange(count, dtype=parts[0].end.dtype.numpy())[:, None], like)
    chosen = _product(node, rows, parts[-1].matrix, (count, width))
    for part in reversed(parts[:-1]):
        before = editing.before(node, "Less", [numbers, part.end], shape=[count, 1], dtype=_BOOL)
        own = _product(node, rows, part.matrix, (count, width))
        chosen = editing.before(node, "Where", [before, own, chosen], shape=[count, width])
    like.shape = onnx_ir.Shape([count, width])
    editing.take_place(like, chosen)
    node.graph.remove(node, safe=True)
    for old in (old for part in parts for old in (part.product, part.cut)):
        if not old.outputs[0].uses():
            old.graph.remove(old, safe=True)


def _product(node: onnx_ir.Node, rows: onnx_ir.Value, matrix: onnx_ir.Value, shape: tuple[int, int]) -> onnx_ir.Value:
    return editing.before(node, "MatMul", [rows, matrix], shape=shape)

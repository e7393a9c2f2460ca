"""Einsum of two operands, written as the product of matrices that it is."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import onnx_ir

from assay_runner.exporting.steps import editing
from assay_runner.workarounds import Fault

FEW = Fault("qnn_knows_few_einsums", "onnxruntime-qnn", ("2.7.0",), "QNN knows few forms of Einsum")


@dataclass(frozen=True)
class Labels:
    """The axes of a product by what becomes of them, each group in the order of the left operand or the right."""

    batch: str  # in both operands and the result
    rows: str  # in the left one and the result
    columns: str  # in the right one and the result
    summed: str  # in both operands only


def to_products(model: onnx_ir.Model) -> int:
    """Einsum becomes Transpose, Reshape and MatMul where it has two operands of known shapes and no axis twice."""
    done = 0
    for node in editing.nodes(model, "Einsum"):
        shapes = [editing.shape(value) for value in node.inputs]
        if len(shapes) != 2 or None in shapes or editing.shape(node.outputs[0]) is None:
            continue
        terms = _terms(node.attributes["equation"].as_string(), [len(shape) for shape in shapes])
        labels = _labels(*terms) if terms else None
        if labels is None or not _agree(terms[:2], shapes):
            continue
        _rewrite(node, terms, labels)
        done += 1
    return done


def _terms(equation: str, ranks: Sequence[int]) -> tuple[str, str, str] | None:
    """The axes of both operands and of the result, an ellipsis written out in capitals; None without a result."""
    given, arrow, result = equation.replace(" ", "").partition("->")
    left, comma, right = given.partition(",")
    if not arrow or not comma or "," in right or any(c.isupper() for c in equation):
        return None
    hidden = {rank - len(term) + 3 for term, rank in zip((left, right), ranks, strict=True) if "..." in term}
    if len(hidden) > 1:
        return None
    written = "".join(chr(ord("A") + i) for i in range(max(hidden, default=0)))
    return left.replace("...", written), right.replace("...", written), result.replace("...", written)


def _labels(left: str, right: str, result: str) -> Labels | None:
    if any(len(set(term)) != len(term) for term in (left, right, result)):
        return None
    labels = Labels(
        "".join(c for c in left if c in right and c in result),
        "".join(c for c in left if c not in right and c in result),
        "".join(c for c in right if c not in left and c in result),
        "".join(c for c in left if c in right and c not in result),
    )
    used = set(labels.batch + labels.rows + labels.columns + labels.summed)
    return labels if used == set(left + right) and set(result) <= used else None


def _agree(terms: Sequence[str], shapes: Sequence[tuple[int, ...]]) -> bool:
    """Whether an axis is of one size in both operands: Einsum also spreads those of one."""
    left, right = (dict(zip(term, shape, strict=True)) for term, shape in zip(terms, shapes, strict=True))
    return all(right.get(c, size) == size for c, size in left.items())


def _rewrite(node: onnx_ir.Node, terms: tuple[str, str, str], labels: Labels) -> None:
    left, right, result = terms
    sizes = dict(zip(left, node.inputs[0].shape, strict=True)) | dict(zip(right, node.inputs[1].shape, strict=True))
    b, r, c, s = labels.batch, labels.rows, labels.columns, labels.summed
    first = _arranged(node, 0, left, (b, r, s), sizes)
    second = _arranged(node, 1, right, (b, s, c), sizes)
    flat = [math.prod(sizes[x] for x in group) for group in (r, c)]
    full = [sizes[x] for x in b + r + c]
    value = editing.before(node, "MatMul", [first, second], shape=[*(sizes[x] for x in b), *flat])
    if [*(sizes[x] for x in b), *flat] != full:
        value = _reshaped(node, value, full)
    order = [(b + r + c).index(x) for x in result]
    editing.replace(node, "Transpose", [value], {"perm": order})


def _arranged(
    node: onnx_ir.Node, place: int, term: str, groups: tuple[str, str, str], sizes: dict[str, int]
) -> onnx_ir.Value:
    """An operand with its axes in the groups' order, the last two groups one axis each."""
    value, wanted = node.inputs[place], "".join(groups)
    if wanted != term:
        shape = [sizes[x] for x in wanted]
        value = editing.before(node, "Transpose", [value], {"perm": [term.index(x) for x in wanted]}, shape=shape)
    shape = [*(sizes[x] for x in groups[0]), *(math.prod(sizes[x] for x in group) for group in groups[1:])]
    return value if shape == [sizes[x] for x in wanted] else _reshaped(node, value, shape)


def _reshaped(node: onnx_ir.Node, value: onnx_ir.Value, shape: list[int]) -> onnx_ir.Value:
    target = editing.known(node.graph, np.asarray(shape, np.int64), node.outputs[0])
    return editing.before(node, "Reshape", [value, target], shape=shape)

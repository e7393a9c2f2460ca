"""Rewriting steps that only the HTP needs, of the same kind as those of the export, which every engine shares."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np
import onnx_ir

from assay_runner.export.steps import Step, editing


def scaled_norms(model: onnx_ir.Model) -> int:
    """ReduceL2 becomes the norm of what is divided by its largest magnitude, times that: squares stay in fp16's range.
    Nothing but zeros is divided by the smallest normal number of fp16 instead."""
    done = 0
    for node in editing.nodes(model, "ReduceL2"):
        source, target = node.inputs[0], node.outputs[0]
        wide = editing.shape(source)
        if wide is None or source.dtype != onnx_ir.DataType.FLOAT or not node.attributes.get_int("keepdims", 1):
            continue
        axes = list(node.inputs[1:2])
        least = editing.known(node.graph, np.float32(np.finfo(np.float16).tiny), target)
        size = editing.before(node, "Abs", [source], shape=wide)
        largest = editing.before(node, "ReduceMax", [size, *axes], {"keepdims": 1})
        scale = editing.before(node, "Max", [largest, least])
        small = editing.before(node, "Div", [source, scale], shape=wide)
        norm = editing.before(node, "ReduceL2", [small, *axes], {"keepdims": 1})
        editing.replace(node, "Mul", [norm, scale])
        done += 1
    return done


def einsums_as_products(model: onnx_ir.Model) -> int:
    """Einsum of two operands becomes a product of matrices, with the axes put in order before and after."""
    done = 0
    for node in editing.nodes(model, "Einsum"):
        plan = _plan(node)
        if plan is not None:
            _product(node, *plan)
            done += 1
    return done


def _plan(node: onnx_ir.Node) -> tuple[str, str, str, dict[str, int]] | None:
    """The letters of both operands and of the result, with their sizes; None where it is no plain product."""
    equation = node.attributes.get_string("equation", "").replace(" ", "")
    operands, arrow, result = equation.partition("->")
    first, comma, second = operands.partition(",")
    shapes = [editing.shape(value) for value in node.inputs]
    if not arrow or not comma or "." in equation or "," in second or None in shapes:
        return None
    if any(len(set(letters)) != len(letters) for letters in (first, second, result)):
        return None
    sizes = dict(zip(first + second, (*shapes[0], *shapes[1]), strict=True))
    alone = (set(first) ^ set(second)) - set(result)  # summed over one operand alone
    return None if alone else (first, second, result, sizes)


def _product(node: onnx_ir.Node, first: str, second: str, result: str, sizes: dict[str, int]) -> None:
    batch = [c for c in first if c in second and c in result]
    summed = [c for c in first if c in second and c not in result]
    left = [c for c in first if c not in second]
    right = [c for c in second if c not in first]
    a = _matrices(node, node.inputs[0], first, (batch, left, summed), sizes)
    b = _matrices(node, node.inputs[1], second, (batch, summed, right), sizes)
    flat = [prod(sizes[c] for c in group) for group in (batch, left, right)]
    value = editing.before(node, "MatMul", [a, b], shape=flat)
    order = [*batch, *left, *right]
    value = _reshaped(node, value, [sizes[c] for c in order])
    editing.replace(node, "Transpose", [value], {"perm": [order.index(c) for c in result]})


def _matrices(
    node: onnx_ir.Node, value: onnx_ir.Value, letters: str, groups: Sequence[list[str]], sizes: dict[str, int]
) -> onnx_ir.Value:
    """An operand with its axes in the order of the groups, each group one axis."""
    order = [c for group in groups for c in group]
    perm, dtype = [letters.index(c) for c in order], value.dtype
    value = editing.before(node, "Transpose", [value], {"perm": perm}, shape=[sizes[c] for c in order], dtype=dtype)
    return _reshaped(node, value, [prod(sizes[c] for c in group) for group in groups])


def _reshaped(node: onnx_ir.Node, value: onnx_ir.Value, shape: Sequence[int]) -> onnx_ir.Value:
    target = editing.known(node.graph, np.asarray(shape, np.int64), node.outputs[0])
    return editing.before(node, "Reshape", [value, target], shape=shape)


STEPS = (
    Step("norms of scaled values", "the HTP sums squares in fp16, which ends at 65504", scaled_norms),
    Step("sums of products are products of matrices", "QNN knows few forms of Einsum", einsums_as_products),
)


def apply(model: onnx_ir.Model) -> list[dict[str, Any]]:
    """Applies all steps and gives those that changed something."""
    done = [(step, step.apply(model)) for step in STEPS]
    return [{"name": step.name, "count": count, "why": step.why} for step, count in done if count]

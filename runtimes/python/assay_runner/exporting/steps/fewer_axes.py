"""Operators of many axes between reshapes, as the same ones of few.

Axes of one element are left out, and neighbours that an operator treats alike are one. What is reshaped twice in a row
is reshaped once, so that most values of many axes are gone in the end.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import prod
from typing import Any

import numpy as np
import onnx_ir

from assay_runner.exporting.steps import dead, editing, idle

_ALONE = "Abs Cast Ceil Clip Cos Exp Floor Gelu Log Neg Not Reciprocal Relu Round Sigmoid Sign Sin Sqrt Tanh"
_TOGETHER = "Add And Div Equal Greater GreaterOrEqual Less LessOrEqual Max Min Mul Or Pow Sub Where"
_REDUCED = "ReduceMax ReduceMean ReduceMin ReduceSum"


def few(most: Mapping[str, int]) -> Callable[[onnx_ir.Model], int]:
    """A step for some operators, with how many axes an engine takes of each."""

    def step(model: onnx_ir.Model) -> int:
        found = [node for node in editing.nodes(model, *most) if _many(node, most[node.op_type])]
        done = sum(OPERATORS[node.op_type](node, most[node.op_type]) for node in found)
        if done:
            idle.remove(model)
            dead.remove(model)
        return done

    return step


def _many(node: onnx_ir.Node, most: int) -> bool:
    shapes = [editing.shape(value) for value in (*node.inputs, *node.outputs) if value is not None]
    return all(shape is not None and prod(shape) for shape in shapes) and max(map(len, shapes)) > most


def merged(shapes: Sequence[Sequence[int]]) -> list[list[int]]:
    """Shapes that spread over each other, with neighbouring axes joined along which the same ones are spread."""
    rank = max(map(len, shapes))
    long = [[1] * (rank - len(shape)) + list(shape) for shape in shapes]
    found: list[list[int]] = [[] for _ in shapes]
    before: tuple[bool, ...] | None = None
    for sizes in zip(*long, strict=True):
        if max(sizes) == 1:
            continue
        spread = tuple(size == 1 for size in sizes)
        for row, size in zip(found, sizes, strict=True):
            if spread == before:
                row[-1] *= size
            else:
                row.append(size)
        before = spread
    return [row or [1] for row in found]


def _alone(node: onnx_ir.Node, most: int) -> bool:
    shape = editing.shape(node.inputs[0]) or ()
    return _through(node, [[prod(shape[:-1]), shape[-1]]], [prod(shape[:-1]), shape[-1]])


def _together(node: onnx_ir.Node, most: int) -> bool:
    target = editing.shape(node.outputs[0]) or ()
    *given, whole = merged([*(editing.shape(value) or () for value in node.inputs), target])
    return len(whole) <= most and _through(node, given, whole)


def _along(node: onnx_ir.Node, axis: int) -> bool:
    """What works along one axis: what lies before it is one, and what lies behind it."""
    parts = _apart(editing.shape(node.inputs[0]) or (), axis)
    return _through(node, [parts], parts, {"axis": 1} if "axis" in node.attributes else {})


def _apart(shape: Sequence[int], axis: int) -> list[int]:
    axis %= len(shape)
    return [prod(shape[:axis]), shape[axis], prod(shape[axis + 1 :])]


def _softmax(node: onnx_ir.Node, most: int) -> bool:
    return _along(node, node.attributes.get_int("axis", -1))


def _gathered(node: onnx_ir.Node, most: int) -> bool:
    """By a row of indices, or a single one, which takes the axis away."""
    before, _, after = parts = _apart(editing.shape(node.inputs[0]) or (), node.attributes.get_int("axis", 0))
    places = editing.shape(node.inputs[1]) or ()
    row = [prod(places)] if places else []
    return _through(node, [parts, row], [before, *row, after], {"axis": 1})


def _summed(node: onnx_ir.Node, most: int) -> bool:
    axis = editing.scalar(node.inputs[1])
    if axis is None:
        return False
    node.replace_input_with(1, editing.known(node.graph, np.asarray(1, np.int64), node.outputs[0]))
    return _along(node, int(axis))


def _reduced(node: onnx_ir.Node, most: int) -> bool:
    """One run of neighbouring axes after the other."""
    shape = list(editing.shape(node.inputs[0]) or ())
    given = editing.constant(node.inputs[1]) if node.inputs[1:] else None
    if given is None or not given.size:
        return False
    value = node.inputs[0]
    for first, last in _runs(sorted(int(axis) % len(shape) for axis in given.reshape(-1))):
        before, inside, after = (prod(part) for part in (shape[:first], shape[first : last + 1], shape[last + 1 :]))
        value = _reshaped(node, value, [before, inside, after])
        value = editing.before(node, node.op_type, [value, _numbers(node, [1])], {"keepdims": 1}, [before, 1, after])
        shape[first : last + 1] = [1] * (last + 1 - first)
    editing.replace(node, "Reshape", [value, _numbers(node, editing.shape(node.outputs[0]) or ())])
    return True


def _runs(axes: Sequence[int]) -> list[tuple[int, int]]:
    """The first and the last of neighbours."""
    found: list[tuple[int, int]] = []
    for axis in axes:
        if found and found[-1][1] == axis - 1:
            found[-1] = (found[-1][0], axis)
        else:
            found.append((axis, axis))
    return found


def _sliced(node: onnx_ir.Node, most: int) -> bool:
    """Axis by axis."""
    shape = list(editing.shape(node.inputs[0]) or ())
    rows = [editing.constant(value) for value in node.inputs[1:]]
    if len(rows) < 3 or any(row is None for row in rows):
        return False
    steps = rows[3] if len(rows) > 3 else np.ones_like(rows[0])
    value, target = node.inputs[0], editing.shape(node.outputs[0]) or ()
    for start, end, axis, step in zip(rows[0], rows[1], rows[2] % len(shape), steps, strict=True):
        around = (prod(shape[:axis]), prod(shape[axis + 1 :]))
        value = _reshaped(node, value, [around[0], shape[axis], around[1]])
        limits = [editing.known(node.graph, np.asarray([n], np.int64), value) for n in (start, end, 1, step)]
        shape[axis] = target[axis]
        cut = [around[0], shape[axis], around[1]]
        value = editing.before(node, "Slice", [value, *limits], shape=cut)
    editing.replace(node, "Reshape", [value, _numbers(node, target)])
    return True


def _turned(node: onnx_ir.Node, most: int) -> bool:
    """Axes that stay neighbours are one. Where there are too many still, they are moved one after the other."""
    shape = editing.shape(node.inputs[0]) or ()
    order = [axis for axis in node.attributes.get_ints("perm", range(len(shape))[::-1]) if shape[axis] > 1]
    groups = _neighbours(order)
    if len(groups) < 2:
        return _formed(node, most)
    sizes = {group[0]: prod(shape[axis] for axis in group) for group in groups}
    wanted, now = [group[0] for group in groups], sorted(sizes)
    if len(groups) <= most:
        perm = [now.index(axis) for axis in wanted]
        return _through(node, [[sizes[axis] for axis in now]], [sizes[axis] for axis in wanted], {"perm": perm})
    value = node.inputs[0]
    for place, axis in enumerate(wanted):
        there = now.index(axis)
        if there > place:
            parts = [now[:place], now[place:there], [axis], now[there + 1 :]]
            a, b, c, d = (prod(sizes[i] for i in part) for part in parts)
            value = editing.before(
                node, "Transpose", [_reshaped(node, value, [a, b, c, d])], {"perm": [0, 2, 1, 3]}, [a, c, b, d]
            )
            now = [*parts[0], axis, *parts[1], *parts[3]]
    editing.replace(node, "Reshape", [value, _numbers(node, editing.shape(node.outputs[0]) or ())])
    return True


def _neighbours(order: Sequence[int]) -> list[list[int]]:
    """Axes in an order, in groups of those that follow each other in both the old and the new one."""
    kept, groups = sorted(order), []
    for axis in order:
        if groups and kept.index(axis) == kept.index(groups[-1][-1]) + 1:
            groups[-1].append(axis)
        else:
            groups.append([axis])
    return groups


def _formed(node: onnx_ir.Node, most: int) -> bool:
    editing.replace(node, "Reshape", [node.inputs[0], _numbers(node, editing.shape(node.outputs[0]) or ())])
    return True


def _spread(node: onnx_ir.Node, most: int) -> bool:
    target = editing.shape(node.outputs[0]) or ()
    given, whole = merged([editing.shape(node.inputs[0]) or (), target])
    if len(whole) > most:
        return False
    node.replace_input_with(1, _numbers(node, whole))
    return _through(node, [given], whole)


def _through(
    node: onnx_ir.Node,
    given: Sequence[Sequence[int]],
    after: Sequence[int],
    attributes: Mapping[str, Any] | None = None,
) -> bool:
    """The same operator with its first inputs in other shapes, and what it gives in the one that it had."""
    inputs = [_reshaped(node, value, shape) for value, shape in zip(node.inputs, given, strict=False)]
    kept = {name: attribute.value for name, attribute in node.attributes.items()} | dict(attributes or {})
    value = editing.before(node, node.op_type, [*inputs, *node.inputs[len(inputs) :]], kept, after)
    editing.replace(node, "Reshape", [value, _numbers(node, editing.shape(node.outputs[0]) or ())])
    return True


def _reshaped(node: onnx_ir.Node, value: onnx_ir.Value, shape: Sequence[int]) -> onnx_ir.Value:
    if editing.shape(value) == tuple(shape):
        return value
    array = editing.constant(value)
    if array is not None:
        return editing.known(node.graph, array.reshape(shape), value)
    return editing.before(node, "Reshape", [value, _numbers(node, shape)], shape=shape, dtype=value.dtype)


def _numbers(node: onnx_ir.Node, numbers: Sequence[int]) -> onnx_ir.Value:
    return editing.known(node.graph, np.asarray(numbers, np.int64), node.outputs[0])


OPERATORS: Mapping[str, Callable[[onnx_ir.Node, int], bool]] = {
    **dict.fromkeys(_ALONE.split(), _alone),
    **dict.fromkeys(_TOGETHER.split(), _together),
    **dict.fromkeys(_REDUCED.split(), _reduced),
    **dict.fromkeys(("Unsqueeze", "Squeeze", "Flatten"), _formed),
    "CumSum": _summed,
    "Expand": _spread,
    "Gather": _gathered,
    "Slice": _sliced,
    "Softmax": _softmax,
    "Transpose": _turned,
}
"""What is rewritten, and how."""

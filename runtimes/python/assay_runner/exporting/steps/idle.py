"""Nodes that change nothing."""

from __future__ import annotations

from collections.abc import Callable

import onnx_ir

from assay_runner.exporting.steps import editing
from assay_runner.workarounds import Fault

SQUEEZES = Fault(
    "onnxscript_squeezes_longer_axes",
    "onnxscript",
    ("0.7.2",),
    "a squeeze of an axis that is not 1, which torch leaves as it is, is written as one that ONNX forbids",
)

# What holds every number of another type exactly: a cast there and on is the cast at once.
_HOLDS = {
    onnx_ir.DataType.INT64: {onnx_ir.DataType.BOOL, onnx_ir.DataType.INT32, onnx_ir.DataType.UINT8},
    onnx_ir.DataType.INT32: {onnx_ir.DataType.BOOL, onnx_ir.DataType.UINT8},
    onnx_ir.DataType.FLOAT: {onnx_ir.DataType.BOOL, onnx_ir.DataType.FLOAT16, onnx_ir.DataType.BFLOAT16},
    onnx_ir.DataType.DOUBLE: {onnx_ir.DataType.BOOL, onnx_ir.DataType.FLOAT, onnx_ir.DataType.INT32},
}


def remove(model: onnx_ir.Model) -> int:
    """Removes identities, casts to the type that is there, what leaves the shape that is there (reshapes, expansions,
    slices, squeezes), pads by nothing, splits into one part, scatters of nothing, transposes that move no axis, masks
    that hide nothing and choices that are always the same; joins two casts, reshapes or transposes in a row."""
    done = 0
    for node in editing.nodes(model, "Where", "Add"):
        kept = _chosen(node) if node.op_type == "Where" else _unmasked(node)
        if (
            kept is not None
            and editing.shape(kept) is not None
            and editing.shape(kept) == editing.shape(node.outputs[0])
        ):
            done += editing.bypass_to(node, kept)
    for node in editing.nodes(model, *_IDLE):
        if _IDLE[node.op_type](node):
            done += editing.bypass(node)
    for node in editing.nodes(model, *_JOINED):
        done += _JOINED[node.op_type](node)
    return done


def _same_shape(node: onnx_ir.Node) -> bool:
    before, after = editing.shape(node.inputs[0]), editing.shape(node.outputs[0])
    return before is not None and before == after


def _squeezes_nothing(node: onnx_ir.Node) -> bool:
    shape, axes = editing.shape(node.inputs[0]), editing.constant(node.inputs[1]) if len(node.inputs) > 1 else None
    return shape is not None and axes is not None and all(shape[axis] != 1 for axis in axes.ravel())


def _same_type(node: onnx_ir.Node) -> bool:
    return node.inputs[0].dtype is not None and node.inputs[0].dtype == node.attributes["to"].as_int()


def _same_axes(node: onnx_ir.Node) -> bool:
    order = node.attributes.get_ints("perm", None)
    return order is not None and list(order) == sorted(order)


def _whole(node: onnx_ir.Node) -> bool:
    """A slice that keeps every element; one with negative steps keeps them in another order."""
    steps = editing.constant(node.inputs[4]) if len(node.inputs) > 4 else None
    forward = len(node.inputs) < 5 or (steps is not None and bool((steps > 0).all()))
    return forward and _same_shape(node)


def _pads_nothing(node: onnx_ir.Node) -> bool:
    pads = editing.constant(node.inputs[1])
    return pads is not None and not pads.any()


def _empty(node: onnx_ir.Node) -> bool:
    """A scatter of nothing: an axis that a small model has none of."""
    return 0 in (editing.shape(node.inputs[2]) or ())


def _unmasked(node: onnx_ir.Node) -> onnx_ir.Value | None:
    """The scores to which a mask that hides nothing is added. Other sums with zero stay: a bias is zero only until the
    model is trained, and a graph with drawn weights must cost what one with trained weights costs."""
    users = [use.node.op_type for use in node.outputs[0].uses()]
    for place in (0, 1) if users == ["Softmax"] else ():
        array = editing.constant(node.inputs[place])
        if array is not None and array.ndim > 1 and not array.any():
            return node.inputs[1 - place]
    return None


def _chosen(node: onnx_ir.Node) -> onnx_ir.Value | None:
    """What a Where gives whose condition is everywhere the same."""
    condition = editing.constant(node.inputs[0])
    if condition is None or not condition.size or condition.all() != condition.any():
        return None
    return node.inputs[1 if condition.all() else 2]


_IDLE: dict[str, Callable[[onnx_ir.Node], bool]] = {
    "Identity": lambda node: True,
    "Cast": _same_type,
    "Reshape": _same_shape,
    "Expand": _same_shape,
    "Tile": _same_shape,  # the HTP's compiler crashes on one of five axes, like on others: engines/qnn/rewrites
    "Squeeze": _squeezes_nothing,  # SQUEEZES
    "Slice": _whole,
    "Pad": _pads_nothing,
    "Split": lambda node: len(node.outputs) == 1,  # whatever size is given: it has to be that of all
    "ScatterND": _empty,
    "ScatterElements": _empty,
    "Transpose": _same_axes,
}


def _join_casts(node: onnx_ir.Node) -> bool:
    first = editing.producer(node.inputs[0], "Cast")
    if first is None or first.inputs[0].dtype not in _HOLDS.get(node.inputs[0].dtype, ()):
        return False
    node.replace_input_with(0, first.inputs[0])
    return True


def _join_reshapes(node: onnx_ir.Node) -> bool:
    """The second one alone decides, unless it copies an axis of what it is given (0)."""
    first, target = editing.producer(node.inputs[0], "Reshape"), editing.constant(node.inputs[1])
    if first is None or target is None or not target.all():
        return False
    node.replace_input_with(0, first.inputs[0])
    return True


def _join_transposes(node: onnx_ir.Node) -> bool:
    first = editing.producer(node.inputs[0], "Transpose")
    if first is None or "perm" not in first.attributes or "perm" not in node.attributes:
        return False
    inner = first.attributes["perm"].as_ints()
    joined = [inner[axis] for axis in node.attributes["perm"].as_ints()]
    node.replace_input_with(0, first.inputs[0])
    node.attributes["perm"] = onnx_ir.AttrInt64s("perm", joined)
    return True


_JOINED: dict[str, Callable[[onnx_ir.Node], bool]] = {
    "Cast": _join_casts,
    "Reshape": _join_reshapes,
    "Transpose": _join_transposes,
}

"""32-bit integers throughout a graph: WebGPU has no others.

The graph's inputs become 32 bits wide, and with them whatever is computed of them by operators that take either width.
Where an operator insists on 64 bits, and at the graph's outputs, a cast gives them back. Numbers that do not fit are
not looked for here: whoever narrows a graph runs it and compares.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import onnx_ir

from assay_runner.exporting.steps import editing

_WIDE, _NARROW = onnx_ir.DataType.INT64, onnx_ir.DataType.INT32
_LIMITS = np.iinfo(np.int32)

_ALL = None
_EITHER: dict[str, Sequence[int] | None] = {
    **dict.fromkeys(("Add", "Sub", "Mul", "Div", "Min", "Max", "Mod", "Abs", "Neg", "Sign", "Identity"), _ALL),
    **dict.fromkeys(("Equal", "Less", "LessOrEqual", "Greater", "GreaterOrEqual", "Clip", "Concat", "Cast"), _ALL),
    "Where": (1, 2),
    **dict.fromkeys(("CumSum", "Reshape", "Unsqueeze", "Squeeze", "Transpose", "Flatten", "Slice", "Expand"), (0,)),
    **dict.fromkeys(("Tile", "Split", "ReduceMax", "ReduceMin", "ReduceSum", "ReduceProd", "ArgMax", "ArgMin"), (0,)),
    **dict.fromkeys(("Gather", "GatherElements"), (0, 1)),
    "GatherND": (0,),
    "Pad": (0, 2),
    "ScatterElements": (0, 1, 2),
    "ScatterND": (0, 2),
    "Range": _ALL,
}
"""Operators whose whole numbers may have either width → which of their inputs; the others keep 64 bits."""

_WIDE_RESULT = {"ArgMax", "ArgMin"}  # whatever the width of what they read


def narrow(model: onnx_ir.Model) -> int:
    """Narrows a graph without subgraphs; how many of its values became 32 bits wide."""
    if model.functions or any(_nested(node) for node in model.graph):
        return 0
    done = 0
    for value in model.graph.inputs:
        if value.dtype == _WIDE:
            _mark(value)
            done += 1
    for node in list(model.graph):
        done += _node(node)
    for value in list(model.graph.outputs):
        if value.dtype == _NARROW and value.producer() is not None and value.meta.get("assay.narrowed"):
            _widened_output(value)
    return done


def _nested(node: onnx_ir.Node) -> bool:
    kinds = (onnx_ir.AttributeType.GRAPH, onnx_ir.AttributeType.GRAPHS)
    return any(attribute.type in kinds for attribute in node.attributes.values())


def _node(node: onnx_ir.Node) -> int:
    places = _places(node)
    free = [i for i in places if _whole(node.inputs[i])]
    if any(_too_large(node.inputs[i]) for i in free):
        free = []
    for i, value in enumerate(node.inputs):
        if i in free and value.dtype == _WIDE:
            node.replace_input_with(i, _narrowed(node, value))
        elif i not in free and value is not None and value.meta.get("assay.narrowed"):
            node.replace_input_with(i, editing.before(node, "Cast", [value], {"to": _WIDE.value}, _dims(value), _WIDE))
    if node.op_type == "Cast" and node.attributes.get_int("to", 0) == _WIDE:
        node.attributes["to"] = onnx_ir.AttrInt64("to", _NARROW.value)
    elif not free or node.op_type in _WIDE_RESULT:
        return 0
    changed = [value for value in node.outputs if value.dtype == _WIDE]
    for value in changed:
        _mark(value)
    return len(changed)


def _mark(value: onnx_ir.Value) -> None:
    value.dtype = _NARROW
    value.meta["assay.narrowed"] = True


def _places(node: onnx_ir.Node) -> Sequence[int]:
    if node.domain not in ("", "ai.onnx") or node.op_type not in _EITHER:
        return ()
    places = _EITHER[node.op_type]
    return range(len(node.inputs)) if places is _ALL else [i for i in places if i < len(node.inputs)]


def _whole(value: onnx_ir.Value | None) -> bool:
    return value is not None and value.dtype in (_WIDE, _NARROW)


_PLACES = ("ArgMax", "ArgMin", "TopK", "NonZero", "Shape", "Size")  # they count what a tensor holds


def _too_large(value: onnx_ir.Value | None) -> bool:
    """Whether a value may not fit: a constant that does not, or what stayed wide for such a constant's sake."""
    array = editing.constant(value)
    if array is not None:
        return bool(array.size) and not (_LIMITS.min <= array.min() and array.max() <= _LIMITS.max)
    return value is not None and value.dtype == _WIDE and editing.producer(value, *_PLACES) is None


def _narrowed(node: onnx_ir.Node, value: onnx_ir.Value) -> onnx_ir.Value:
    """A value of 64 bits in 32: a constant rewritten, anything else cast."""
    array = editing.constant(value)
    if array is not None:
        return editing.known(node.graph, array.astype(np.int32), value)
    return editing.before(node, "Cast", [value], {"to": _NARROW.value}, _dims(value), _NARROW)


def _widened_output(value: onnx_ir.Value) -> None:
    """Gives an output of the graph its 64 bits back, under its name."""
    node = value.producer()
    name, value.name = value.name, f"{value.name}.narrow"
    cast = onnx_ir.node("Cast", [value], {"to": _WIDE.value})
    cast.outputs[0].name, cast.outputs[0].dtype, cast.outputs[0].shape = name, _WIDE, value.shape
    graph = node.graph
    graph.append(cast)
    graph.outputs[list(graph.outputs).index(value)] = cast.outputs[0]


def _dims(value: onnx_ir.Value) -> Sequence[int] | None:
    return None if value.shape is None else list(value.shape)

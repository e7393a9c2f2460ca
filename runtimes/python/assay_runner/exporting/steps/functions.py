"""Functions that few engines have, made of those that all have."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import onnx_ir
from onnx_ir import DataType

from assay_runner.exporting.steps import editing

_SMALL = 0.25  # below it the logarithm of nearly one loses digits, and these terms have them all
_SERIES = (105 / 3456, -15 / 336, 3 / 40, -1 / 6, 1.0)  # of Asinh(x) / x, by x²


def plainer(*operators: str) -> Callable[[onnx_ir.Model], int]:
    """A step for some of these: Asinh becomes a logarithm and a series, ReduceL1 a sum of absolute values, Trilu a
    choice and Neg of whole numbers a difference."""
    return lambda model: sum(_PLAINER[node.op_type](node) for node in editing.nodes(model, *operators))


def _difference(node: onnx_ir.Node) -> bool:
    value = node.inputs[0]
    if value is None or value.dtype is None or not value.dtype.is_integer():
        return False
    zero = editing.known(node.graph, np.zeros((), value.dtype.numpy()), node.outputs[0])
    editing.replace(node, "Sub", [zero, value])
    return True


def _absolute_sum(node: onnx_ir.Node) -> bool:
    source = node.inputs[0]
    if source.dtype != DataType.FLOAT or source.shape is None:
        return False
    size = editing.before(node, "Abs", [source])
    size.shape = source.shape
    kept = {name: node.attributes.get_int(name, default) for name, default in _REDUCING.items()}
    editing.replace(node, "ReduceSum", [size, *node.inputs[1:]], kept)
    return True


_REDUCING = {"keepdims": 1, "noop_with_empty_axes": 0}  # attributes, with what they are where none is given


def _triangle(node: onnx_ir.Node) -> bool:
    source, shape = node.inputs[0], editing.shape(node.inputs[0])
    k = 0 if len(node.inputs) < 2 or node.inputs[1] is None else editing.scalar(node.inputs[1])
    if shape is None or k is None or source.dtype not in (DataType.FLOAT, DataType.INT32, DataType.INT64):
        return False
    cut = np.triu if node.attributes.get_int("upper", 1) else np.tril
    kept = editing.known(node.graph, cut(np.ones(shape[-2:], bool), int(k)), source)
    nothing = editing.known(node.graph, np.zeros((), source.dtype.numpy()), source)
    editing.replace(node, "Where", [kept, source, nothing])
    return True


def _inverse_sine(node: onnx_ir.Node) -> bool:
    """Asinh(x) is ±Log(|x| + Sqrt(x² + 1)). The root is that of numbers up to one, times the larger of |x| and one:
    squares do not end where fp16 does."""
    x = node.inputs[0]
    if x.dtype != DataType.FLOAT:
        return False

    def made(operator: str, *inputs: onnx_ir.Value | float, dtype: DataType | None = None) -> onnx_ir.Value:
        given = [i if isinstance(i, onnx_ir.Value) else editing.known(node.graph, np.float32(i), x) for i in inputs]
        return editing.before(node, operator, given, dtype=dtype)

    size = made("Abs", x)
    larger = made("Max", size, 1.0)
    one = made("Reciprocal", larger)
    part = made("Mul", size, one)
    root = made("Mul", larger, made("Sqrt", made("Add", made("Mul", part, part), made("Mul", one, one))))
    far = made("Mul", made("Sign", x), made("Log", made("Add", size, root)))
    square = made("Mul", x, x)
    series: onnx_ir.Value | float = _SERIES[0]
    for factor in _SERIES[1:]:
        series = made("Add", made("Mul", square, series), factor)
    near = made("Mul", x, series)
    small = made("Less", size, _SMALL, dtype=DataType.BOOL)
    editing.replace(node, "Where", [small, near, far])
    return True


_PLAINER: Mapping[str, Callable[[onnx_ir.Node], bool]] = {
    "Asinh": _inverse_sine,
    "ReduceL1": _absolute_sum,
    "Trilu": _triangle,
    "Neg": _difference,
}

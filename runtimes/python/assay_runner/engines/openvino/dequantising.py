"""What a model that NNCF quantised means, in floating point.

Where only weights are quantised, they are widened and written into the graph in ONNX that the model was made of:
another engine then computes what OpenVINO should. Where that cannot be done (activations are rounded too, or there is
no such graph), OpenVINO itself runs the model in float32, with every weight widened and every rounding of activations
written out in plain operators, so that none of its kernels for integers takes part.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
import onnx_ir
import openvino as ov
from openvino import opset13 as ops

from assay_runner.engines.contract import Arrays, Meant
from assay_runner.exporting import comparison, writing

BY = "OpenVINO in float32"
_FEW_BITS = ("i8", "u8", "i4", "u4", "nf4")
_ROUNDING = "FakeQuantize"
_PLAIN = {"INFERENCE_PRECISION_HINT": "f32", "SNIPPETS_MODE": "DISABLE"}

Weight = tuple[ov.Input, np.ndarray]
"""An input that reads a quantised weight, and that weight widened."""


def meant(file: Path, graph: Path, names: Sequence[str], dtype: str, folder: Path) -> Meant:
    """What a quantised model in a file means. graph is what it was made of, in whatever format."""
    core = ov.Core()
    model = core.read_model(file)
    rounds = any(op.get_type_name() == _ROUNDING for op in model.get_ops())
    weights = list(widened(model))
    if graph.suffix == ".onnx" and not rounds and (held := _initialisers(graph, weights)):
        plain = comparison.Graph(_written(graph, held, folder), names, optimised=False)
        return Meant(plain.arrays, comparison.PLAINLY, dtype)
    return Meant(_plainly(core, model, weights, names), BY, dtype, rounds)


def widened(model: ov.Model) -> Iterator[Weight]:
    """The inputs of a model that read a quantised weight."""
    values: dict[str, np.ndarray | None] = {}
    for op in model.get_ordered_ops():
        if _value(op, values) is not None:
            continue
        for given in op.inputs():
            source = given.get_source_output().get_node()
            value = _value(source, values)
            if value is not None and _few_bits(source):
                yield given, value


def _value(op: ov.Node, values: dict[str, np.ndarray | None]) -> np.ndarray | None:
    """What an operator that depends on no input gives, in float32 without any rounding on the way; None otherwise."""
    name = op.get_friendly_name()
    if name not in values:
        values[name] = _computed(op, values)
    return values[name]


def _computed(op: ov.Node, values: dict[str, np.ndarray | None]) -> np.ndarray | None:
    kind = op.get_type_name()
    if kind == "Constant":
        return op.get_data(dtype=np.float32)
    if kind not in _WIDENING:
        return None
    given = [_value(source.get_source_output().get_node(), values) for source in op.inputs()]
    return None if any(value is None for value in given) else _WIDENING[kind](op, given)


_WIDENING: Mapping[str, Callable[[ov.Node, list[np.ndarray]], np.ndarray]] = {
    "Convert": lambda _, given: given[0],
    "Subtract": lambda _, given: given[0] - given[1],
    "Multiply": lambda _, given: given[0] * given[1],
    "Reshape": lambda op, given: given[0].reshape(tuple(op.get_output_shape(0))),
    "Transpose": lambda _, given: given[0].transpose(given[1].astype(int).tolist()),
}
"""The operators that weights of few bits go through → what each does."""


def _few_bits(op: ov.Node) -> bool:
    """Whether a weight of few bits is behind an operator of _WIDENING."""
    if op.get_type_name() == "Constant":
        return op.get_output_element_type(0).get_type_name() in _FEW_BITS
    return any(_few_bits(given.get_source_output().get_node()) for given in op.inputs())


def _initialisers(graph: Path, weights: Sequence[Weight]) -> dict[str, np.ndarray]:
    """The initialisers of a graph in ONNX that were quantised, widened; none where they cannot all be told, or where
    one is read in places that were not quantised."""
    model = onnx_ir.load(graph)
    found: dict[str, np.ndarray] = {}
    read: dict[str, int] = {}
    for given, value in weights:
        name = _constant(given.get_source_output().get_node())
        known = model.graph.initializers.get(name)
        if known is None or tuple(known.shape.numpy()) != value.shape:
            return {}
        found[name], read[name] = value, read.get(name, 0) + 1
    alike = all(len(model.graph.initializers[name].uses()) == count for name, count in read.items())
    return found if alike else {}


def _constant(op: ov.Node) -> str:
    """The name of the weight that an operator widens, which is its initialiser's."""
    while op.get_type_name() != "Constant":
        op = op.input(0).get_source_output().get_node()
    return op.get_friendly_name()


def _written(graph: Path, weights: Mapping[str, np.ndarray], folder: Path) -> Path:
    model = onnx_ir.load(graph)
    onnx_ir.external_data.load_to_model(model)
    for name, array in weights.items():
        value = model.graph.initializers[name]
        value.const_value = onnx_ir.tensor(array.astype(value.const_value.numpy().dtype), name=name)
    writing.write(model, folder)
    return folder / writing.FILE


def _plainly(
    core: ov.Core, model: ov.Model, weights: Sequence[Weight], names: Sequence[str]
) -> Callable[[Arrays], Arrays]:
    """What OpenVINO gives of a model in float32."""
    for given, value in weights:
        kind = given.get_element_type().to_dtype()
        given.replace_source_output(ops.constant(value.astype(kind)).output(0))
    for op in model.get_ordered_ops():
        if op.get_type_name() == _ROUNDING:
            op.output(0).replace(_rounded(op).output(0))
    model.validate_nodes_and_infer_types()
    request = core.compile_model(model, "CPU", _PLAIN).create_infer_request()

    def run(feeds: Arrays) -> Arrays:
        request.infer(dict(feeds))
        outputs = (request.get_output_tensor(index).data for index in range(len(names)))
        return {name: np.array(array) for name, array in zip(names, outputs, strict=True)}

    return run


def _rounded(op: ov.Node) -> ov.Node:
    """A rounding of activations in plain operators: into the range, to the nearest of its levels, into the other
    range."""
    x, low, high, out_low, out_high = (given.get_source_output() for given in op.inputs())
    steps = ops.constant(np.float32(op.get_attributes()["levels"] - 1))
    inside = ops.minimum(ops.maximum(x, low), high)
    share = ops.divide(ops.subtract(inside, low), ops.subtract(high, low))
    level = ops.round(ops.multiply(share, steps), "half_to_even")
    return ops.add(ops.multiply(ops.divide(level, steps), ops.subtract(out_high, out_low)), out_low)

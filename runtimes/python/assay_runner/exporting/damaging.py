"""Damages a graph in ONNX, so that an engine is given one that it must show to be damaged.

Weights are found by structure: float initialisers that products and convolutions read, the last of the graph first, and
the tables of embeddings after them. Damage is graded, from a quarter of the channels of one weight to all weights. It
turns signs and leaves magnitudes as they are, so that a damaged graph has the ranges of the model: nothing overflows,
and quantised weights have the same scales. Only the last grade writes zeros.

A grade is known by its number: which weights it means follows from the graph alone, so a damaged graph is made again
whenever it is needed and never kept. What each grade does to the outputs is measured with ONNX Runtime, in one session
whose weights are given anew for each run.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx_ir
import torch

from assay_runner.checking import control, numerics
from assay_runner.exporting import comparison, traces, writing
from assay_runner.exporting.steps import editing
from assay_runner.subjects.outputs import Tensors

QUARTER, WEIGHT, QUARTERS, ZERO = "negate-quarter", "negate-weight", "negate-quarters", "zero-weights"
_SINGLE = 3  # weights that are damaged alone: the last one may belong to an output that says little
_FLOATS = (onnx_ir.DataType.FLOAT, onnx_ir.DataType.FLOAT16, onnx_ir.DataType.DOUBLE, onnx_ir.DataType.BFLOAT16)
_PRODUCTS: dict[str, Mapping[int, int]] = {
    "MatMul": {1: -1, 0: -2},
    "Gemm": {1: -1},
    "Conv": {1: 0},
    "ConvTranspose": {1: 1},
    "Einsum": {1: -1, 0: -1},
    "LSTM": {1: 1},
    "GRU": {1: 1},
    "RNN": {1: 1},
}
"""Operators → which of their inputs may be weights, and the axis of the channels that come out."""
_PASSED = ("Cast", "Identity", "Transpose", "Reshape", "Squeeze", "Unsqueeze", "Slice", "Split", "Expand", "Gather")
_IN_PLACE = ("Cast", "Identity")


@dataclass(frozen=True)
class Weight:
    """An initialiser, and the axis of its output channels."""

    name: str
    axis: int


@dataclass(frozen=True)
class Piece:
    """The first channels of a weight, multiplied."""

    weight: Weight
    share: float
    factor: float

    def damaged(self, array: np.ndarray) -> np.ndarray:
        """A copy with the damage."""
        found, channels = array.copy(), array.shape[self.weight.axis]
        ends = max(1, int(channels * self.share))
        index = [slice(None)] * array.ndim
        index[self.weight.axis] = slice(0, ends)
        found[tuple(index)] *= np.asarray(self.factor, array.dtype)
        return found


@dataclass(frozen=True)
class Grade:
    """Damage of one size: its kind, the weights meant in a word, and the pieces."""

    kind: str
    of: str
    pieces: tuple[Piece, ...]


@dataclass(frozen=True)
class Effect:
    """What a grade does to the outputs, by both measures; change is as a comparison's max_rel."""

    number: int
    kind: str
    of: str
    change: float
    snr_db: float | None
    finite: bool


def grades(model: onnx_ir.Model) -> list[Grade]:
    """The grades of a graph, the smallest first; none where it has no weights."""
    products, tables = _found(model)
    every = [*products, *tables]
    if not every:
        return []
    last = (products or tables)[:_SINGLE]
    return [
        *(Grade(QUARTER, weight.name, (_quarter(weight),)) for weight in last),
        *(Grade(WEIGHT, weight.name, (Piece(weight, 1.0, -1.0),)) for weight in last),
        *([Grade(QUARTERS, "products and convolutions", tuple(map(_quarter, products)))] if products else []),
        *([Grade(QUARTERS, "all weights", tuple(map(_quarter, every)))] if tables else []),
        Grade(ZERO, "all weights", tuple(Piece(weight, 1.0, 0.0) for weight in every)),
    ]


def _quarter(weight: Weight) -> Piece:
    return Piece(weight, 0.25, -1.0)


def write(graph: Path, number: int, folder: Path) -> Path:
    """Writes a graph with the damage of a grade into a folder. The graph itself stays as it is."""
    model = onnx_ir.load(graph)
    for piece in grades(model)[number].pieces:
        value = model.graph.initializers[piece.weight.name]
        array = piece.damaged(value.const_value.numpy())
        value.const_value = onnx_ir.tensor(array, dtype=value.const_value.dtype, name=value.name)
    writing.write(model, folder)
    return folder / writing.FILE


def measured(
    graph: Path, names: Sequence[str], tensors: Mapping[str, torch.Tensor], expected: Tensors
) -> dict[str, Any]:
    """What each grade does to a graph whose outputs have these names, and how far any of them moves each output, for a
    manifest. A graph that cannot be damaged, or run so, is no reason to fail: `why` says it."""
    model = onnx_ir.load(graph)
    found = grades(model)
    if not found:
        return nothing("the graph has no weights")
    try:
        session = _Weighed(model, found, names, tensors)
        seen = [session.run(grade) for grade in found]
    except Exception as error:  # noqa: BLE001 - the runtime raises types of its own
        return nothing(f"ONNX Runtime does not run the damaged graph: {traces.line(error)}")
    effects = [asdict(_effect(number, grade, seen[number], expected)) for number, grade in enumerate(found)]
    moves = {name: max(_change(damaged, expected, name) for damaged in seen) for name in expected}
    return {"effects": effects, "moves": moves, "why": ""}


def nothing(why: str) -> dict[str, Any]:
    """The same where nothing was damaged."""
    return {"effects": [], "moves": {}, "why": why}


def _effect(number: int, grade: Grade, damaged: Tensors, expected: Tensors) -> Effect:
    change = min(numerics.compare(damaged, expected).max_rel, control.CAP)
    snr = numerics.signal_to_noise_db(damaged, expected)
    return Effect(number, grade.kind, grade.of, change, snr, numerics.finite(damaged, expected))


def _change(damaged: Tensors, expected: Tensors, name: str) -> float:
    """How far an output is moved: as max_rel, and of whole numbers the share that differs."""
    return min(numerics.compare({name: damaged[name]}, {name: expected[name]}).max_rel, control.CAP)


class _Weighed:
    """A graph in a session of ONNX Runtime that takes its weights with each run."""

    def __init__(
        self, model: onnx_ir.Model, found: Sequence[Grade], names: Sequence[str], tensors: Mapping[str, torch.Tensor]
    ) -> None:
        used = {piece.weight.name for grade in found for piece in grade.pieces}
        self._weights = {name: model.graph.initializers[name] for name in used}
        model.graph.inputs.extend(self._weights.values())  # with a value of their own they need not be given
        proto = onnx_ir.serde.serialize_model(model).SerializeToString()
        self._graph, self._tensors = comparison.Graph(proto, names, optimised=False), tensors

    def run(self, grade: Grade) -> Tensors:
        instead = {p.weight.name: p.damaged(self._weights[p.weight.name].const_value.numpy()) for p in grade.pieces}
        return self._graph.run(self._tensors, instead)


def _found(model: onnx_ir.Model) -> tuple[list[Weight], list[Weight]]:
    """The weights of products and convolutions, and the tables that are looked up; of each the last first."""
    products: dict[str, Weight] = {}
    tables: dict[str, Weight] = {}
    own = model.graph.initializers
    for node in reversed(list(model.graph.all_nodes())):
        reads = {0: -1} if node.op_type == "Gather" else _PRODUCTS.get(node.op_type, {})
        for number, axis in reads.items():
            weight = _weight(node.inputs[number], _axis(node, axis)) if number < len(node.inputs) else None
            if weight is not None and weight.name in own:
                (tables if node.op_type == "Gather" else products).setdefault(weight.name, weight)
    return list(products.values()), [weight for weight in tables.values() if weight.name not in products]


def _axis(node: onnx_ir.Node, axis: int) -> int:
    transposed = node.op_type == "Gemm" and node.attributes.get_int("transB", 0)
    return 0 if transposed else axis


def _weight(value: onnx_ir.Value | None, axis: int) -> Weight | None:
    """The initialiser that a value is, or is a view of. Behind what changes more than the order of axes, the last axis
    counts as the one of the channels: some slice of the weight is damaged all the same."""
    for source, passed in _views(value, axis):
        tensor = source.const_value
        if source.is_initializer() and tensor is not None and tensor.dtype in _FLOATS and len(tensor.shape) > 1:
            rank = len(tensor.shape)
            return Weight(str(source.name), passed % rank if -rank <= passed < rank else rank - 1)
    return None


def _views(value: onnx_ir.Value | None, axis: int) -> Iterator[tuple[onnx_ir.Value, int]]:
    """A value and those that it is a view of, each with the place of an axis."""
    while value is not None:
        yield value, axis
        node = editing.producer(value, *_PASSED)
        if node is None or (node.op_type == "Gather" and editing.constant(node.inputs[1]) is None):
            return
        if node.op_type == "Transpose":
            order = node.attributes.get_ints("perm", [])
            axis = order[axis] if order and axis < len(order) else -1
        elif node.op_type not in _IN_PLACE:
            axis = -1
        value = node.inputs[0]

"""How far each output may be off.

A model says itself how exact it can be: its recipe holds, for each dtype and output, how far rounding moved it when the
recipe was made. Twenty times that is allowed, which is room for another order of sums, for fused kernels and for other
inputs, and never more than the table, which is all there is for a model at full size. So float32 that is computed in
TF32 or in half precision does not pass for float32.

Of a tiny model that cannot run in float64 it is found by trial when the model is exported (`steadiness`): what a few
roundings in each layer do is about five times what float32 itself does.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import torch

from assay_runner.subjects import inputs

TABLE = {"fp32": 1e-3, "fp16": 1e-2, "bf16": 3e-2}
FACTOR = 20
_LEAST = torch.finfo(torch.float32).eps  # no rounding is less: a model that was exact may be off by it elsewhere
_MOVED = 4  # how many times what roundings move a sample it may be off by
_SENSITIVE = 0.5  # of the tolerance: a sample that roundings move by more is judged by that movement alone
_PLAINLY = 8  # times that movement
MEANINGLESS = 0.3  # of the largest value: what may be off by more says nothing
NARROW = ("fp16", "bf16")

Rounding = Mapping[str, tuple[float, float]]
"""By output, how far rounding moves it: the error over the largest value, and that of the worst row over its length."""


@dataclass(frozen=True)
class Tolerance:
    """What is allowed, by output."""

    most: float
    rounding: Rounding = field(default_factory=dict)
    least: float = 0.0  # of an output whose rounding is known: what this sample's own sensitivity asks for
    rows: bool = True  # whether they are looked at one by one

    def of(self, output: str) -> float:
        """How far an output may be off, of its largest value."""
        own = self.rounding.get(output)
        if own is None:
            return self.most
        return min(self.most, max(FACTOR * max(own[0], _LEAST), self.least))

    def of_row(self, output: str) -> float | None:
        """How far a row may be off, of its length; None where nothing is known of it."""
        own = self.rounding.get(output)
        return FACTOR * max(own[1], _LEAST) if own is not None and self.rows else None

    def knowing(self, rounding: Rounding) -> Tolerance:
        """The same with the rounding of outputs of which nothing was known."""
        return replace(self, rounding={**rounding, **self.rounding})

    def loosest(self, outputs: Iterable[str] = ()) -> float:
        """The largest error that would pass."""
        return max((self.of(name) for name in outputs or self.rounding), default=self.most)

    def moved_at(self, moves: Mapping[str, float], dtype: str) -> Tolerance:
        """For a first sample that roundings move so far, by dtype, where the recipe knows another call; itself where
        nothing is said. The table is the most that is allowed."""
        if dtype not in moves:
            return self
        return replace(self, least=min(_MOVED * moves[dtype], self.most), rows=False)

    def unsettled(self, error: float | None, movement: float) -> str:
        """Why an error beyond what is allowed does not show that something is wrong: roundings alone move the outputs
        about as far. "" where it does."""
        if movement <= _SENSITIVE * self.most or error is None or error > _PLAINLY * movement:
            return ""
        return (
            f"roundings alone move its outputs by {movement:.1g} of their largest value with these weights, so nothing "
            "can be said of them"
        )

    def moved(self, movement: float) -> Tolerance:
        """For a sample that roundings move so far: another than the one that the recipe knows. One that they move
        further than is allowed still shows what is plainly wrong."""
        if movement > _SENSITIVE * self.most:
            return Tolerance(_PLAINLY * movement, rows=False)
        return replace(self, least=_MOVED * movement, rows=False)


@dataclass(frozen=True)
class Wider:
    """A tolerance that differs from the table, with its reason, for cells of just this size, weights and engine."""

    type: str
    size: str
    weights: str
    dtype: str
    tolerance: float
    reason: str
    engine: str = "torch"


_CANCELS = (
    "the similarities are dot products of unit vectors, which nearly cancel with random weights: the vectors' rounding "
    "is large compared with them"
)

_DEEP = "thirty-two layers with random weights let fp16 rounding grow to 1.2e-2 on the CPU's own scale"

# At full size, of which no recipe knows the rounding: it would have to be run in float64.
WIDER: tuple[Wider, ...] = (
    Wider("clip", "full", "random", "fp16", 3e-2, _CANCELS),
    Wider("llava", "full", "random", "fp16", 2e-2, _DEEP),
    Wider("llava_next", "full", "random", "fp16", 2e-2, _DEEP),
)


def most(model_type: str, size: str, weights: str, dtype: str, engine: str = "torch") -> float:
    """The largest tolerance of a cell."""
    for row in WIDER:
        if (row.type, row.size, row.weights, row.dtype, row.engine) == (model_type, size, weights, dtype, engine):
            return row.tolerance
    return TABLE[dtype]


def of_cell(recipe: Mapping[str, Any], cell: Mapping[str, Any], dtype: str, engine: str = "torch") -> Tolerance:
    """The tolerance of a cell whose model is made by a recipe."""
    size = cell.get("size") or recipe.get("size") or ""
    flat = most(recipe.get("type", ""), size, cell.get("weights") or "random", dtype, engine)
    return Tolerance(flat, known(recipe, dtype))


def measured(recipe: Mapping[str, Any], point: Mapping[str, Any], seed: int) -> bool:
    """Whether a call is the one whose rounding a recipe knows. Other weights, other inputs and other sizes are rounded
    otherwise: what roundings do to them has to be seen (`Tolerance.moved`)."""
    return seed == 0 and inputs.sizes(recipe, point) == inputs.sizes(recipe, {})


def known(recipe: Mapping[str, Any], dtype: str) -> Rounding:
    """What a recipe knows of rounding in a dtype, which is that of its own call."""
    if recipe.get("size") != "tiny":
        return {}
    return {name: (row[0], row[1]) for name, row in ((recipe.get("rounding") or {}).get(dtype) or {}).items()}

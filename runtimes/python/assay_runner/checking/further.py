"""The samples beside the first that a model can be judged on, each with what is expected of it.

Not every sample that a rule makes means something to every model: what the model itself refuses, what gives no numbers,
and where the last bit decides (`steadiness`) is left out, with the reason. A sample for which the model gives shapes
different from those of the first is kept: a graph that takes it gives these shapes too, or it is wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import torch

from assay_runner.checking import numerics, steadiness
from assay_runner.checking.tolerances import MEANINGLESS, Tolerance
from assay_runner.subjects.outputs import Tensors
from assay_runner.subjects.samples import Sample

TIES = "the last bit decides what it gives: ties"
Left = dict[str, str]
"""A sample that says nothing: its name, and why."""
Rows = tuple[list[dict[str, Any]], list[Left]]
"""How far each sample is off, as the protocol has it, and the samples that say nothing."""

Run = Callable[[Mapping[str, torch.Tensor]], Tensors]


@dataclass(frozen=True)
class Further:
    """A sample, the outputs that are expected of it, all of them, and how far they move by roundings of each dtype."""

    sample: Sample
    expected: Tensors
    moves: Mapping[str, float] = field(default_factory=dict)

    def row(self, found: Tensors, limit: Tolerance, dtype: str = "fp32") -> dict[str, Any] | None:
        """What was found, against what is expected, where no mask hides it; None where no output can be judged. A
        sample that roundings move further than the recipe's own may be off by more."""
        compared = numerics.compare(self.sample.visible(found), self.sample.visible(self.expected), dtype)
        if compared.unchecked:
            return None
        told = compared.report(limit.moved(self.moves.get(dtype, 0.0)), "")
        return {"name": self.sample.name, **{key: told[key] for key in ("max_rel", "tolerance", "pass", "output")}}

    def left(self, why: str) -> Left:
        """The sample among those that say nothing."""
        return {"name": self.sample.name, "why": why}

    def moved(self, model: torch.nn.Module, run: Run, given: Tensors, dtype: str) -> float:
        """How far what a model gives of it, in a run, is moved by roundings of a dtype."""
        visible = self.sample.visible
        return steadiness.moved(model, lambda: visible(run(self.sample.tensors)), visible(given), dtype)

    def doubtful(self, model: torch.nn.Module, run: Run, given: Tensors, limit: float) -> bool:
        """Whether the last bit may decide what a model gives of it, in float32."""
        visible = self.sample.visible
        return steadiness.doubtful(model, lambda: visible(run(self.sample.tensors)), visible(given), limit)

    def rounded(self, exact: Tensors) -> Further:
        """The same with what float32 is off by, given what float64 makes of it."""
        visible = self.sample.visible
        error = numerics.compare(visible(self.expected), visible(exact)).max_rel
        return replace(self, moves={**self.moves, "fp32": max(self.moves.get("fp32", 0.0), error)})

    def unfit(self, dtype: str, limit: float) -> str:
        """Why the sample says nothing of a model in a dtype; "" where it does."""
        movement = self.moves.get(dtype, 0.0)
        if dtype == "fp32":
            return "" if steadiness.steady(movement, limit) else TIES
        return "" if Tolerance(limit).moved(movement).most <= MEANINGLESS else sensitive(dtype)


NOTHING = "all outputs are too close to zero to judge"


def sensitive(dtype: str) -> str:
    """Why a sample that roundings of a dtype move far says nothing in it."""
    return TIES if dtype == "fp32" else f"too sensitive to rounding for {dtype}"


def known(samples: Iterable[Sample], run: Run) -> tuple[list[Further], list[Left]]:
    """The samples with what a run gives of each, and those that are left out."""
    found, left = [], []
    for sample in samples:
        expected, why = _expected(sample, run)
        if expected is None:
            left.append({"name": sample.name, "why": why})
        else:
            found.append(Further(sample, expected))
    return found, left


def _expected(sample: Sample, run: Run) -> tuple[Tensors | None, str]:
    try:
        found = run(sample.tensors)
    except Exception as error:  # noqa: BLE001 - whatever it is, the model does not take such inputs
        return None, f"the model refuses it: {type(error).__name__}: {error}".splitlines()[0][:200]
    if any(bool(t.isnan().any()) for t in sample.visible(found).values()):
        return None, "it gives what is not a number"
    return found, ""


def steady(
    known: Sequence[Further], model: torch.nn.Module, run: Run, limit: float
) -> tuple[list[Further], list[Left]]:
    """Those of the samples whose answers mean something, with how far they move, and the others."""
    found, left = [], []
    for row in known:
        moves = {"fp32": row.moved(model, run, row.expected, "fp32")}
        if not steadiness.steady(moves["fp32"], limit):
            left.append(row.left(TIES))
            continue
        moves |= {
            dtype: row.moved(model, run, row.expected, dtype) for dtype in steadiness.ROUNDINGS if dtype not in moves
        }
        found.append(replace(row, moves=moves))
    return found, left


def judged(numbers: dict[str, Any], found: list[dict[str, Any]], left: list[Left]) -> dict[str, Any]:
    """The numerics of a report with those of the samples: they pass if all do. Where the first is right, the one that
    is furthest off counts; where it is wrong, that says enough."""
    more: dict[str, Any] = {"samples": found, "left_out": left}
    wrong = worst(found)
    if wrong is not None and numbers["pass"]:
        more |= {key: value for key, value in wrong.items() if key != "name"}
        more |= {"sample": wrong["name"], "rows": None, "margin": None}  # which are the first sample's
    return numbers | more


def worst(rows: Sequence[Mapping[str, Any]]) -> Mapping[str, Any] | None:
    """The sample that does not pass and is furthest off, if there is one."""
    wrong = [row for row in rows if not row.get("pass", True)]
    return max(wrong, key=_far, default=None)


def _far(row: Mapping[str, Any]) -> float:
    error = row.get("max_rel")
    return float("inf") if error is None else error

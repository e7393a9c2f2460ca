"""The negative control: a damaged model must be seen as damaged.

A control damages the very model that was checked; the output is then compared with the same reference by the same code.
Recipes know by how much each kind of damage moves the output (`damages`): the smallest that must be seen is chosen, so
that a result says how fine its check is. A model at full size, of which that is not known, loses its last block.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import torch

from assay_runner.checking import damages
from assay_runner.checking.numerics import CONTROL_FACTOR, compare
from assay_runner.checking.tolerances import Tolerance
from assay_runner.errors import BadRecipe
from assay_runner.subjects.outputs import Tensors

OTHER_INPUT = "other-input"
KINDS = (*damages.TABLE, OTHER_INPUT)
CAP = 1e6  # an infinite change (numbers lost, shapes changed) is written as this
_SAFELY = 2  # the effect on another device is not quite the recipe's
FULL_FACTOR = 2  # at full size only the last block is damaged: it must be seen, if only just

Run = Callable[[damages.Inputs], Tensors]


@dataclass(frozen=True)
class Control:
    """What a control saw. change is as a comparison's max_rel."""

    kind: str
    change: float
    passed: bool
    note: str = ""
    unmoved: tuple[str, ...] = ()  # outputs that no damage moves

    def report(self) -> dict[str, Any]:
        """As the protocol has it."""
        told = {"kind": self.kind, "change": self.change, "pass": self.passed, "note": self.note}
        return told | ({"unmoved": list(self.unmoved)} if self.unmoved else {})


def choose(recipe: Mapping[str, Any], limit: float) -> str:
    """The kind of a recipe's smallest damage that must be seen where so much is allowed; its own where none must, and
    "" where it has none."""
    seen = (row["kind"] for row in recipe.get("damages") or () if row["effect"] >= _SAFELY * CONTROL_FACTOR * limit)
    return next(seen, (recipe.get("control") or {}).get("kind") or "")


def measure(
    model: torch.nn.Module,
    kind: str,
    run: Run,
    given: damages.Inputs,
    other: Callable[[], damages.Inputs],
    reference: Tensors,
    tolerance: Tolerance,
    restore: bool = True,
    dtype: str = "fp32",
    factor: float = CONTROL_FACTOR,
) -> Control:
    """Damages, runs (on another input for that kind) and compares with the reference."""
    if kind not in KINDS:
        raise BadRecipe(f"unknown control {kind!r}: the controls are {', '.join(KINDS)}")
    if kind == OTHER_INPUT:
        return _seen(kind, run(other()), reference, tolerance, dtype, factor)
    damaged = damages.TABLE[kind](model, given, restore)
    if damaged is None:
        return Control(kind, 0.0, False, "the model has no part of that kind")
    with damaged.context:
        return _seen(kind, run(damaged.inputs), reference, tolerance, dtype, factor)


def _seen(kind: str, found: Tensors, reference: Tensors, tolerance: Tolerance, dtype: str, factor: float) -> Control:
    compared = compare(found, reference, dtype)
    return Control(kind, min(compared.max_rel, CAP), compared.times(tolerance) >= factor)


def lasting(model: torch.nn.Module) -> str:
    """How a model at full size is damaged: what of its last block it has."""
    return next((kind for kind, parts in damages.LASTING.items() if damages.last(model, parts)), "")

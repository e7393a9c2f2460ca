"""Chooses a recipe's negative control and the gain of its weights.

Tiny models with small random weights hardly use their attention: a model without
it may differ by less than a half-precision tolerance, and a check that cannot fail
is not a check. So weights are drawn with growing gain until some damage shows, and the
least gain is kept with which the damage is seen and rounding is still forgiven.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch

from assay_runner.checking import control, damages, numerics, reference, tolerances
from assay_runner.subjects import experts, inputs, outputs
from assay_runner.subjects.programs import building

from . import special

GAINS = (1.0, 2.0, 4.0, 6.0, 8.0)
# Damages in groups: a model is tried with the first group that it has parts for. One that reads documents must be seen
# to miss them.
GROUPS = (("zero-index",), ("zero-attention", "zero-mlp"))
DAMAGES = frozenset(kind for group in GROUPS for kind in group)
OTHER_INPUT = control.OTHER_INPUT  # says least: any model that looks at its input shows it
SEED = 0
WANTED = numerics.CONTROL_FACTOR * tolerances.TABLE["bf16"]
NEEDED = numerics.CONTROL_FACTOR * tolerances.TABLE["fp32"]
HALVES = {"bf16": torch.bfloat16, "fp16": torch.float16}


class NoControl(Exception):
    """No damage shows: a check of this model could not fail."""


@dataclass(frozen=True)
class Control:
    """A control: what it damages, how far the output then is, and whether rounding to half precision passes."""

    kind: str
    gain: float
    effect: float  # of the largest magnitude of the undamaged output
    forgiving: bool
    exact: bool = True  # float32 agrees with float64: nothing is decided by rounding

    def written(self) -> dict[str, Any]:
        """As a recipe has it. Two digits of the effect are the same on every CPU."""
        return {"kind": self.kind, "effect": float(f"{self.effect:.2g}")}

    @property
    def good(self) -> bool:
        """Seen at every dtype, and rounding alone is not taken for damage."""
        return self.effect >= WANTED and self.forgiving and self.exact


def choose(recipe: Mapping[str, Any], through: bool = False) -> Control:
    """The good control of least gain, damage before another input; where none is good the one that shows most.

    With `through` only gains count at which another input changes every output: what stands at the end of a long run
    depends on what went in at its beginning.
    """
    tried: list[Control] = []
    for gain in special.gains(recipe["type"]) or GAINS:
        found = _at_gain({**recipe, "gain": gain}, through)
        tried += found
        if good := [one for one in found if one.good and one.kind in DAMAGES]:
            return good[0]
    good = [one for one in tried if one.good]
    seen = [one for one in tried if one.effect >= NEEDED]
    if not seen:
        best = max((one.effect for one in tried), default=0.0)
        raise NoControl(f"no damage changes the output by more than {best:.1e} of its size")
    return good[0] if good else max(seen, key=_worth)


def _worth(one: Control) -> tuple[bool, bool, float, bool, float]:
    """Where none is good: rounding that passes, then how well it is seen, then damage before another input."""
    return one.exact, one.forgiving, min(one.effect, WANTED), one.kind in DAMAGES, -one.gain


def _at_gain(recipe: Mapping[str, Any], through: bool = False) -> list[Control]:
    """The controls that show anything at this gain, in order of preference."""
    model = building.build(recipe, torch.float32, SEED).model
    try:
        whole = _run(model, recipe, SEED)
    except RuntimeError:  # a model that sizes its output by what it computes may ask for more than there is
        return []
    if not numerics.finite(whole, None) or outputs.constant(whole) or clipped(whole):
        return []
    if through and not _all_differ(whole, _run(model, recipe, SEED + 1)):
        return []
    forgiving = all(_forgiven(recipe, whole, name) for name in HALVES)
    exact = _exact(model, recipe, whole)
    kinds = (*_group(model), OTHER_INPUT)
    found = [Control(kind, recipe["gain"], _effect(model, recipe, whole, kind), forgiving, exact) for kind in kinds]
    return [one for one in found if one.effect > 0]


def clipped(whole: outputs.Tensors) -> bool:
    """Whether every number stands at a bound, as in sound that is all too loud: little of what was computed is left."""
    numbers = [t.abs() for t in whole.values() if t.is_floating_point() and t.numel() > 1]
    return bool(numbers) and all(bool((t == t.max()).all()) for t in numbers)


def _all_differ(one: outputs.Tensors, two: outputs.Tensors) -> bool:
    numbers = [name for name, t in one.items() if t.is_floating_point()]
    return not any(name in two and torch.equal(one[name], two[name]) for name in numbers)


def _group(model: torch.nn.Module) -> tuple[str, ...]:
    return next((group for group in GROUPS if any(damages.targets(model, kind) for kind in group)), ())


Tensors = outputs.Tensors


def _run(model: torch.nn.Module, recipe: Mapping[str, Any], seed: int, dtype: torch.dtype = torch.float32) -> Tensors:
    given = inputs.make(recipe, {"batch": 1}, seed, dtype)
    torch.manual_seed(SEED)  # for what a model draws inside its forward
    with torch.no_grad():
        return outputs.flatten(model(**given, **recipe["call"]))


def _effect(model: torch.nn.Module, recipe: Mapping[str, Any], whole: outputs.Tensors, kind: str) -> float:
    """How far the output moves under the damage; 0 when there is nothing to damage, or it breaks the model.

    Sound of another length is as far away as anything can be.
    """
    if kind == OTHER_INPUT:
        return _difference(_run(model, recipe, SEED + 1), whole)
    parts = damages.targets(model, kind)
    if not parts:
        return 0.0
    try:
        with damages.zeroed(parts):
            return _difference(_run(model, recipe, SEED), whole)
    except RuntimeError:
        return 0.0


def _difference(damaged: outputs.Tensors, whole: outputs.Tensors) -> float:
    if not numerics.finite(damaged, whole):
        return 0.0
    return min(numerics.compare(damaged, whole).max_rel, control.CAP)


def _exact(model: torch.nn.Module, recipe: Mapping[str, Any], whole: outputs.Tensors) -> bool:
    """Whether float64 agrees within float32's tolerance; a model that cannot run there is taken at its word."""
    try:
        with reference.widened(model, torch.float64), experts.looped(model):
            wide = _run(model, recipe, SEED, torch.float64)
    except Exception:  # noqa: BLE001 - a kernel that lacks the dtype says nothing about the gain
        return True
    return numerics.compare(whole, wide).max_rel <= tolerances.TABLE["fp32"]


def _forgiven(recipe: Mapping[str, Any], whole: outputs.Tensors, name: str) -> bool:
    """Whether the model in half precision agrees within that precision's tolerance.

    One that cannot run there says nothing about it; single precision must then agree with double.
    """
    rounded = _in(recipe, HALVES[name])
    if rounded is not None:
        return numerics.compare(rounded, whole).max_rel <= tolerances.TABLE[name]
    exact = _in(recipe, torch.float64)
    return exact is None or numerics.compare(whole, exact).max_rel <= tolerances.TABLE["fp32"]


def _in(recipe: Mapping[str, Any], dtype: torch.dtype) -> outputs.Tensors | None:
    """What the model gives in another dtype; None where it cannot run in it."""
    try:
        return _run(building.build(recipe, dtype, SEED).model, recipe, SEED, dtype)
    except Exception:  # noqa: BLE001 - a kernel that lacks the dtype says nothing about the gain
        return None

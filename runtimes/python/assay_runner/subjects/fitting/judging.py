"""What a recipe's model is judged by: how far rounding moves its outputs, and how far each kind of damage does.

Both are found once, when the recipe is made, on the CPU: rounding as float32 against float64 and as half precision
against float32, over several inputs; damage from the finest to the largest. Written with two digits: the last of them
may differ on another CPU, and nothing that is decided depends on it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import torch

from assay_runner.checking import control, damages, numerics, reference, tolerances
from assay_runner.subjects import experts, inputs, outputs
from assay_runner.subjects.outputs import Tensors
from assay_runner.subjects.programs import building

SEED = 0
SEEDS = (SEED, SEED + 1, SEED + 2)  # one input may be rounded luckily
HALVES = {"fp16": torch.float16, "bf16": torch.bfloat16}
_FINEST = 1e-6  # of the largest value: what damage must do to be told from rounding at all

Errors = dict[str, numerics.Error]


def judged(recipe: Mapping[str, Any]) -> dict[str, Any]:
    """The fields `rounding`, `damages` and, where there are such outputs, `unmoved` of a recipe."""
    model = building.build(recipe, torch.float32, SEED).model
    whole = [_run(model, recipe, seed) for seed in SEEDS]
    rounding = {"fp32": _exact(model, recipe, whole)} | {name: _half(recipe, whole, name) for name in HALVES}
    told = {name: _written(errors) for name, errors in rounding.items() if errors}
    found = list(_damaged(model, recipe, whole[0]))
    limits = tolerances.Tolerance(tolerances.TABLE["fp32"], tolerances.known({**recipe, "rounding": told}, "fp32"))
    rows = sorted((effect, kind) for kind, effect, _ in found if effect >= _FINEST)
    more = {"rounding": told, "damages": [{"kind": kind, "effect": _short(effect)} for effect, kind in rows]}
    unmoved = _unmoved(whole[0], [errors for _, _, errors in found], limits)
    return more | ({"unmoved": unmoved} if unmoved else {})


def _run(model: torch.nn.Module, recipe: Mapping[str, Any], seed: int, dtype: torch.dtype = torch.float32) -> Tensors:
    return _ran(model, recipe, inputs.make(recipe, {"batch": 1}, seed, dtype))


def _ran(model: torch.nn.Module, recipe: Mapping[str, Any], given: Mapping[str, torch.Tensor]) -> Tensors:
    torch.manual_seed(SEED)  # for what a model draws inside its forward
    with torch.no_grad():
        return outputs.flatten(model(**given, **recipe["call"]))


def _exact(model: torch.nn.Module, recipe: Mapping[str, Any], whole: list[Tensors]) -> Errors:
    """float32 against float64; nothing where the model cannot run there."""
    try:
        with reference.widened(model, torch.float64), experts.looped(model):
            wide = [_run(model, recipe, seed, torch.float64) for seed in SEEDS]
    except Exception:  # noqa: BLE001 - a kernel that lacks the dtype says nothing about rounding
        return {}
    return _worst(numerics.compare(one, two) for one, two in zip(whole, wide, strict=True))


def _half(recipe: Mapping[str, Any], whole: list[Tensors], name: str) -> Errors:
    """Half precision against float32; nothing where the model cannot run in it."""
    try:
        model = building.build(recipe, HALVES[name], SEED).model
        with reference.drawing(model, torch.float32):
            found = [_run(model, recipe, seed, HALVES[name]) for seed in SEEDS]
    except Exception:  # noqa: BLE001 - a kernel that lacks the dtype says nothing about rounding
        return {}
    return _worst(numerics.compare(one, two, name) for one, two in zip(found, whole, strict=True))


def _worst(compared: Iterator[numerics.Comparison]) -> Errors:
    """Of each output the largest errors."""
    found: Errors = {}
    for comparison in compared:
        for name, error in comparison.errors.items():
            old = found.get(name, error)
            found[name] = numerics.Error(max(old.abs, error.abs), max(old.rel, error.rel), max(old.row, error.row))
    return found


def _written(errors: Errors) -> dict[str, list[float]]:
    """Errors within the table; what is further off is decided by rounding, and says nothing of how exact it is."""
    largest = tolerances.TABLE["bf16"]
    return {name: [_short(error.rel), _short(error.row)] for name, error in errors.items() if error.rel <= largest}


def _short(number: float) -> float:
    return float(f"{number:.2g}")


def _damaged(model: torch.nn.Module, recipe: Mapping[str, Any], whole: Tensors) -> Iterator[tuple[str, float, Errors]]:
    """Each kind of damage that the model can have, by how much it moves the output, and the outputs one by one."""
    given = inputs.make(recipe, {"batch": 1}, SEED, torch.float32)
    for kind, make in damages.TABLE.items():
        damaged = make(model, given, True)
        if damaged is None:
            continue
        try:
            with damaged.context, reference.forgetting(model):
                found = _ran(model, recipe, damaged.inputs)
        except Exception:  # noqa: BLE001 - damage that breaks the model is none that an engine could have
            continue
        compared = numerics.compare(found, whole)
        if numerics.finite(found, whole):
            yield kind, min(compared.max_rel, control.CAP), compared.errors


def _unmoved(whole: Tensors, found: list[Errors], limits: tolerances.Tolerance) -> list[str]:
    """The outputs that no damage moves by what a control needs."""
    floats = [name for name, t in whole.items() if t.is_floating_point() and t.numel()]
    needed = {name: numerics.CONTROL_FACTOR * limits.of(name) for name in floats}
    return [name for name in floats if not any(name in row and row[name].rel >= needed[name] for row in found)]

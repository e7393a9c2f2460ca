"""Makes the recipe of a pipeline: tiny parts by rule, a call that runs with them, a control that can fail."""

from __future__ import annotations

from typing import Any

import torch
import transformers

from assay_runner.checking import numerics, reference
from assay_runner.errors import BadRecipe, NotInRelease, RunnerError, TooLarge
from assay_runner.subjects import inputs, outputs
from assay_runner.subjects.diffusion import components, release
from assay_runner.subjects.fitting import controls, judging, verify
from assay_runner.subjects.fitting.search import Fitted
from assay_runner.subjects.programs import building

from . import asking, composing, rows, tasks
from .tasks import Head

TINY_LIMIT = 40_000_000  # parameters of all parts together; more is not tiny
SEED = 0


class NoPipeline(RunnerError):
    """The pipeline could not be made to run; the message says why, size by size."""


def head(model_type: str, task: str = "") -> Head:
    """The type's pipeline for a task, or its default one."""
    try:
        found = tasks.of_type(model_type)
    except NotInRelease as absent:
        raise NotInRelease(f"{_no_model(model_type)}; {absent}") from absent
    if not found:
        raise NotInRelease(f"{_no_model(model_type)}, nor has diffusers {release.version()} such a pipeline")
    for one in found:
        if task in ("", one.task):
            return one
    known = ", ".join(dict.fromkeys(one.task for one in found))
    raise BadRecipe(f"{model_type} has no pipeline for task {task!r}: it has {known}")


def _no_model(model_type: str) -> str:
    return f"transformers {transformers.__version__} has no model type {model_type!r}"


def tiny(model_type: str, task: str = "") -> dict[str, Any]:
    """The recipe of a type's pipeline at size tiny: with the smallest pictures on which everything holds."""
    chosen = head(model_type, task)
    recipe = _frame(chosen)
    recipe["parameters"] = building.parameter_count(recipe)
    if recipe["parameters"] is not None and recipe["parameters"] > TINY_LIMIT:
        raise TooLarge(f"{recipe['parameters']:,} parameters are not tiny")
    model = building.build(recipe, torch.float32, SEED).model
    recipe["parameters"] = building.count(model)
    failures = []
    for side in asking.SIDES:
        try:
            return judged(_fitted(recipe, model, chosen, side))
        except Exception as error:  # noqa: BLE001 - a pipeline's own code may raise anything; the next size may do
            failures.append(f"{side}: {type(error).__name__}: {str(error)[:200]}")
    raise NoPipeline(f"{chosen.cls.__name__} does not run with images of any size: " + " | ".join(failures))


def judged(recipe: dict[str, Any]) -> dict[str, Any]:
    """The recipe with what its pipeline is judged by, found again."""
    return _ordered(recipe | judging.judged(recipe))


def _frame(chosen: Head) -> dict[str, Any]:
    made, config = composing.compose(chosen.cls)
    return {
        "type": chosen.type,
        "library": "diffusers",
        "program": "pipeline",
        "class": chosen.cls.__name__,
        "task": chosen.task,
        "size": "tiny",
        "checkpoint": "",
        "parts": made,
        "config": config,
        "transformers": transformers.__version__,
        "diffusers": release.version(),
    }


def _fitted(recipe: dict[str, Any], model: torch.nn.Module, chosen: Head, side: int) -> dict[str, Any]:
    """The recipe with inputs and call for pictures of this size, checked, and with its control."""
    accepts = components.accepted(chosen.cls)
    given = asking.inputs(accepts, recipe["parts"], chosen.task, side)
    call = asking.settings(accepts, side, rows.of_pipeline(chosen.cls.__name__, "call"))
    sizes = {"seq": asking.WORDS} if any("seq" in spec["shape"] for spec in given) else {}
    fitted = verify.check(model, Fitted(given, sizes, call))
    _comparable(model, fitted)
    recipe = {**recipe, "sizes": fitted.sizes, "inputs": fitted.inputs, "call": fitted.call}
    control = controls.choose(recipe)
    return recipe | {"gain": control.gain, "control": control.written()}


def _comparable(model: torch.nn.Module, fitted: Fitted) -> None:
    """Raises unless the pipeline also runs in float64: there is no other attention for a second reference."""
    recipe = {"inputs": fitted.inputs, "sizes": fitted.sizes}
    with torch.no_grad(), reference.widened(model, torch.float64):
        wide = model(**inputs.make(recipe, {"batch": 1}, SEED, torch.float64), **fitted.call)
    if not numerics.finite(outputs.flatten(wide), None):
        raise verify.Unfit("the output is not finite in float64, so there is no reference")


ORDER = (
    "type", "library", "program", "class", "task", "size", "checkpoint", "parts", "config", "sizes", "inputs", "call",
    "gain", "control", "rounding", "damages", "unmoved", "parameters", "transformers", "diffusers",
)  # fmt: skip


def _ordered(recipe: dict[str, Any]) -> dict[str, Any]:
    """The fields in the order in which recipes are written and read."""
    return {key: recipe[key] for key in ORDER if key in recipe}

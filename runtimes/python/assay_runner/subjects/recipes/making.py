"""Makes recipes: a configuration, inputs that fit it, a control that can fail.

``tiny`` shrinks a type by rule and searches (a pipeline of diffusers by rules of its
own); ``full`` takes a known checkpoint's true values and finds inputs on a shallow copy
of it, since only depth and the number of experts change between the two; ``of_config``
does the same for any configuration.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
import transformers

from assay_runner.errors import BadRecipe, NotInRelease, RunnerError, TooLarge
from assay_runner.introspection import classes, defaults
from assay_runner.subjects import models, owncode
from assay_runner.subjects.fitting import controls, judging, padding_masks, program_choice, special, verify
from assay_runner.subjects.fitting.search import Fitted
from assay_runner.subjects.pipelines import drafting as pipelines
from assay_runner.subjects.programs import building
from assay_runner.subjects.shrinking import LADDER, Rung, shrink, unstated
from assay_runner.subjects.shrinking.compact import compact
from assay_runner.subjects.shrinking.ladder import EXPERTS, LAYERS

TINY_LIMIT = 40_000_000  # parameters; a rung that gives more is not tiny
SHALLOW_LIMIT = 1_500_000_000  # parameters of the shallow copy that inputs are found on
SHALLOW = Rung("shallow", frozenset({LAYERS, EXPERTS}))


class NoRecipe(RunnerError):
    """The type could not be made to run; the message says why, rung by rung."""


def head(model_type: str, task: str = "", method: str = "") -> tuple[str, type]:
    """(task, class) of the type's head for a task, or of its default one; with a method of that name."""
    try:
        heads = classes.task_heads(model_type)
    except KeyError:
        raise NotInRelease(f"transformers {transformers.__version__} has no model type {model_type!r}") from None
    for named, name in heads:
        if task in ("", named):
            cls = classes.model_class(classes.config_class(model_type), name)
            if cls is not None and hasattr(cls, method or "__init__"):
                return named, cls
    known = ", ".join(dict.fromkeys(named for named, _ in heads))
    if not heads:
        raise NoRecipe(f"{model_type} is a component of other models and has no model class of its own")
    raise BadRecipe(f"{model_type} has no head for task {task!r}: it has {known}")


def tiny(model_type: str, task: str = "") -> dict[str, Any]:
    """The type's recipe at size tiny, made as its library needs it."""
    return _TINY["transformers" if model_type in classes.all_types() else "diffusers"](model_type, task)


def _model(model_type: str, task: str) -> dict[str, Any]:
    """A type of transformers: the first rung of the ladder on which everything holds."""
    task, cls = head(model_type, task)
    config_cls = classes.config_class(model_type)
    failures = []
    for rung in LADDER:
        try:
            default = defaults.default(config_cls, special.start(model_type))
            plan = program_choice.choose(cls, default)
            values = special.amend(model_type, shrink(default, rung))
            frame = _frame(model_type, head(model_type, task, plan.head)[1], task, "tiny", {})
            return _completed(plan, frame, config_cls, values)
        except Exception as error:  # noqa: BLE001 - a type's own code may raise anything; the next rung may do
            failures.append(f"{rung.name}: {type(error).__name__}: {str(error)[:200]}{_place(error)}")
    raise NoRecipe(f"{cls.__name__} does not run on any rung: " + " | ".join(failures))


def _place(error: BaseException) -> str:
    """Where in the library the error, or what caused it, was raised: file and line; else nothing."""
    frames = traceback.extract_tb((error.__cause__ or error).__traceback__)
    found = next((frame for frame in reversed(frames) if "/transformers/" in frame.filename), None)
    return f" ({Path(found.filename).name}:{found.lineno})" if found else ""


def _completed(
    plan: program_choice.Plan, frame: dict[str, Any], config_cls: type, values: dict[str, Any]
) -> dict[str, Any]:
    """The recipe with these values, and with those that the code turns out to read and the configuration lacks."""
    while True:
        recipe = {**frame, "config": compact(config_cls, values)}
        try:
            return _tiny(plan, _with_program(plan, recipe))
        except Exception as error:
            more = unstated.complete(error, models.config(recipe), values)
            if more is None:
                raise
            values = more


_TINY: dict[str, Callable[[str, str], dict[str, Any]]] = {"transformers": _model, "diffusers": pipelines.tiny}


def _tiny(plan: program_choice.Plan, recipe: dict[str, Any]) -> dict[str, Any]:
    count = building.parameter_count(recipe)
    if count is not None and count > TINY_LIMIT:
        raise TooLarge(f"{count:,} parameters are not tiny")
    model, fitted = _alive(plan, recipe)
    recipe = {**recipe, "sizes": fitted.sizes, "inputs": fitted.inputs, "call": fitted.call}
    chosen = controls.choose(recipe, plan.through)
    recipe |= {"gain": chosen.gain, "control": chosen.written(), "parameters": building.count(model)}
    return judged(masked(recipe))


def judged(recipe: dict[str, Any]) -> dict[str, Any]:
    """A tiny recipe with what its model is judged by, found again."""
    return _ordered(recipe | judging.judged(recipe))


def masked(recipe: dict[str, Any]) -> dict[str, Any]:
    """The recipe with the masks that its model heeds: what they hide is checked by samples, which are of tiny models
    only. Ones change nothing, so the gain and the control stay."""
    model = building.build(recipe, torch.float32, 0).model
    fitted = Fitted(recipe["inputs"], recipe["sizes"], recipe["call"])
    found = padding_masks.complete(model, fitted, special.inputs(recipe), recipe)
    return {**recipe, "inputs": found.fitted.inputs}


def _alive(plan: program_choice.Plan, recipe: dict[str, Any]) -> tuple[torch.nn.Module, Fitted]:
    """The model and its inputs, with the least gain of its weights at which something comes out.

    Deep stacks of convolutions with narrow weights let nothing through: their output would not depend on anything.
    """
    for gain in controls.GAINS:
        model = building.build({**recipe, "gain": gain}, torch.float32, 0).model
        try:
            return model, _fitted(plan, model, recipe, {})
        except verify.Unfit as unfit:
            trouble = unfit
    raise trouble


def full(checkpoint: Mapping[str, Any], task: str = "") -> dict[str, Any]:
    """A known checkpoint's recipe, at its true size, with its own head or that for a task: one configuration serves
    all heads of a type."""
    if task in ("", checkpoint["task"]):
        task, cls = (
            checkpoint["task"],
            classes.model_class(classes.config_class(checkpoint["type"]), checkpoint["class"]),
        )
    else:
        task, cls = head(checkpoint["type"], task)
    recipe = of_config(checkpoint["type"], cls, task, checkpoint["config"], checkpoint.get("sizes", {}))
    return {**recipe, "checkpoint": checkpoint["name"]}


def of_config(
    model_type: str,
    cls: type,
    task: str,
    values: Mapping[str, Any],
    sizes: Mapping[str, int] | None = None,
    code: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """The recipe of a model class with these configuration values. The size is known before anything is allocated.
    code says where classes stand that the model brings itself."""
    recipe = _frame(model_type, cls, task, "full", dict(values), code)
    with _in_a_sentence(recipe["class"]):
        plan = program_choice.choose(cls, models.config(recipe).to_dict())
        if not plan.any_size:
            raise BadRecipe(f"{cls.__name__} is run by the program {plan.program!r}: it has recipes of size tiny only")
        recipe = _with_program(plan, recipe)
        recipe["parameters"] = building.parameter_count(recipe)
        shallow = _shallow(recipe)
        fitted = _fitted(plan, shallow, recipe, sizes or {})
    recipe |= {"sizes": fitted.sizes, "inputs": fitted.inputs, "call": fitted.call, "gain": 1.0, "control": None}
    return _ordered(recipe)


@contextmanager
def _in_a_sentence(cls: str) -> Iterator[None]:
    """What validators, constructors and forwards raise becomes a sentence that names the class."""
    try:
        yield
    except RunnerError:
        raise
    except Exception as error:
        reason = " ".join(str(error).split())[:300]
        raise BadRecipe(f"{cls} cannot be made from this configuration: {reason}") from error


def _shallow(recipe: dict[str, Any]) -> torch.nn.Module:
    """The model with its widths, vocabulary and pictures, and only the layers that differ and a few experts."""
    shallow = {**recipe, "config": shrink(models.config(recipe).to_dict(), SHALLOW)}
    count = building.parameter_count(shallow)
    if count is not None and count > SHALLOW_LIMIT:
        raise TooLarge(f"even with few layers it has {count:,} parameters: inputs for it cannot be found here")
    return building.build(shallow, torch.float32, 0).model


def _fitted(
    plan: program_choice.Plan, model: torch.nn.Module, recipe: Mapping[str, Any], sizes: Mapping[str, int]
) -> Fitted:
    """Inputs with which the model runs, at these sizes, and of which each is heeded."""
    fitted = plan.fit(model, recipe)
    fitted = Fitted(fitted.inputs, {name: sizes.get(name, value) for name, value in fitted.sizes.items()}, fitted.call)
    return verify.check(model, fitted, special.inputs(recipe).unheeded)


def _frame(
    model_type: str, cls: type, task: str, size: str, config: dict[str, Any], code: Mapping[str, str] | None = None
) -> dict[str, Any]:
    config_cls = owncode.found(code["folder"], code["configuration"]) if code else classes.config_class(model_type)
    recipe = {"type": model_type, "class": cls.__name__, "config_class": config_cls.__name__}
    recipe |= {"task": task, "size": size}
    if code:
        recipe["code"] = dict(code)
    elif not hasattr(transformers, cls.__name__):
        recipe["module"] = cls.__module__
    return {**recipe, "checkpoint": "", "config": config, "transformers": transformers.__version__}


def _with_program(plan: program_choice.Plan, recipe: dict[str, Any]) -> dict[str, Any]:
    """The recipe with the fields that its program needs; plain ones stay as they are."""
    if not plan.program:
        return recipe
    parts = plan.parts(recipe["type"], models.config(recipe))
    return {**recipe, "program": plan.program} | ({"parts": parts} if parts else {})


ORDER = (
    "type", "class", "config_class", "module", "code", "program", "parts", "task", "size", "checkpoint", "config",
    "sizes", "inputs", "call", "gain", "control", "rounding", "damages", "unmoved", "parameters", "transformers",
)  # fmt: skip


def _ordered(recipe: dict[str, Any]) -> dict[str, Any]:
    """The fields in the order in which recipes are written and read."""
    return {key: recipe[key] for key in ORDER if key in recipe}

"""Makes recipes: a configuration, inputs that fit it, a control that can fail.

``tiny`` shrinks a type by rule and searches; ``full`` takes a known checkpoint's true
values and finds inputs on a shallow copy of it, since only depth and the number of
experts change between the two; ``of_config`` does the same for any configuration.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import torch
import transformers

from . import models, owncode, special, weights
from .errors import BadRecipe, NotInRelease, RunnerError, TooLarge
from .fitting import controls, verify
from .fitting.search import Fitted, fit
from .introspect import classes
from .shrink import LADDER, Rung, shrink
from .shrink.compact import compact
from .shrink.ladder import EXPERTS, LAYERS

TINY_LIMIT = 40_000_000  # parameters; a rung that gives more is not tiny
SHALLOW_LIMIT = 1_500_000_000  # parameters of the shallow copy that inputs are found on
SHALLOW = Rung("shallow", frozenset({LAYERS, EXPERTS}))


class NoRecipe(RunnerError):
    """The type could not be made to run; the message says why, rung by rung."""


def head(model_type: str, task: str = "") -> tuple[str, type]:
    """(task, class) of the type's head for a task, or of its default one."""
    try:
        heads = classes.task_heads(model_type)
    except KeyError:
        raise NotInRelease(f"transformers {transformers.__version__} has no model type {model_type!r}") from None
    for named, name in heads:
        if task in ("", named):
            cls = classes.model_class(classes.config_class(model_type), name)
            if cls is not None:
                return named, cls
    known = ", ".join(dict.fromkeys(named for named, _ in heads))
    if not heads:
        raise NoRecipe(f"{model_type} is a component of other models and has no model class of its own")
    raise BadRecipe(f"{model_type} has no head for task {task!r}: it has {known}")


def tiny(model_type: str, task: str = "") -> dict[str, Any]:
    """The type's recipe at size tiny: the first rung of the ladder on which everything holds."""
    task, cls = head(model_type, task)
    config_cls = classes.config_class(model_type)
    failures = []
    for rung in LADDER:
        try:
            default = config_cls().to_dict()
            values = special.amend(model_type, shrink(default, rung))
            return _tiny(_frame(model_type, cls, task, "tiny", compact(config_cls, values)))
        except Exception as error:  # noqa: BLE001 - a type's own code may raise anything; the next rung may do
            failures.append(f"{rung.name}: {type(error).__name__}: {str(error)[:200]}")
    raise NoRecipe(f"{model_type} does not run on any rung: " + " | ".join(failures))


def _tiny(recipe: dict[str, Any]) -> dict[str, Any]:
    count = models.parameter_count(recipe)
    if count is not None and count > TINY_LIMIT:
        raise TooLarge(f"{count:,} parameters are not tiny")
    model = models.build(recipe, torch.float32, 0).model
    fitted = verify.check(model, fit(model, special.inputs(recipe["type"])))
    recipe = {**recipe, "sizes": fitted.sizes, "inputs": fitted.inputs, "call": fitted.call}
    chosen = controls.choose(recipe)
    recipe |= {"gain": chosen.gain, "control": chosen.written(), "parameters": models.count(model)}
    return _ordered(recipe)


def full(checkpoint: Mapping[str, Any]) -> dict[str, Any]:
    """A known checkpoint's recipe, at its true size."""
    cls = classes.model_class(classes.config_class(checkpoint["type"]), checkpoint["class"])
    recipe = of_config(checkpoint["type"], cls, checkpoint["task"], checkpoint["config"], checkpoint.get("sizes", {}))
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
        recipe["parameters"] = models.parameter_count(recipe)
        shallow = _shallow(recipe)
        fitted = verify.check(shallow, _with_sizes(fit(shallow, special.inputs(model_type)), sizes or {}))
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
    config_cls = models.config_class(recipe)
    values = shrink(models.config(recipe).to_dict(), SHALLOW)
    config = config_cls(**copy.deepcopy(values))
    cls = models.model_class(recipe)
    with torch.device("meta"):
        count = models.count(cls(copy.deepcopy(config)))
    if count > SHALLOW_LIMIT:
        raise TooLarge(f"even with few layers it has {count:,} parameters: inputs for it cannot be found here")
    return weights.drawn(lambda: cls(config), 0).model.eval()


def _with_sizes(fitted: Fitted, sizes: Mapping[str, int]) -> Fitted:
    return Fitted(fitted.inputs, {name: sizes.get(name, value) for name, value in fitted.sizes.items()}, fitted.call)


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


ORDER = (
    "type", "class", "config_class", "module", "code", "task", "size", "checkpoint", "config", "sizes", "inputs",
    "call", "gain", "control", "parameters", "transformers",
)  # fmt: skip


def _ordered(recipe: dict[str, Any]) -> dict[str, Any]:
    """The fields in the order in which recipes are written and read."""
    return {key: recipe[key] for key in ORDER if key in recipe}

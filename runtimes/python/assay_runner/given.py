"""A recipe from a config.json that somebody has: read with suspicion, refused in a clear sentence."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from . import published
from .errors import BadRecipe

MOST_BYTES = 8 << 20
MOST_LAYERS = 10_000
MOST_NUMBER = 1 << 40
# Values of a published file that say how it is stored and not what the model is.
STORAGE = frozenset("architectures transformers_version _name_or_path torch_dtype dtype auto_map model_type".split())


def recipe(path: Path, task: str = "") -> dict[str, Any]:
    """The recipe for a config.json, at its true size."""
    from . import making

    values = read(path)
    model_type = values["model_type"]
    named, cls = _head(model_type, values, task)
    return making.of_config(model_type, cls, named, {key: v for key, v in values.items() if key not in STORAGE})


def read(path: Path) -> dict[str, Any]:
    """The values of a config.json; BadRecipe, in a sentence, when it cannot be one."""
    try:
        if path.is_dir():
            path = path / "config.json"
        with path.open("rb") as file:
            text = file.read(MOST_BYTES + 1)
    except OSError as error:
        raise BadRecipe(f"cannot read {path}: {error.strerror or error}") from error
    if len(text) > MOST_BYTES:
        raise BadRecipe(f"{path} is larger than {MOST_BYTES >> 20} MiB: it is no model configuration")
    try:
        values = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise BadRecipe(f"{path} is not JSON: {error}") from error
    if not isinstance(values, dict):
        raise BadRecipe(f"{path} does not hold a JSON object: it is no model configuration")
    _known(path, values)
    _sane(path, values)
    return values


def _known(path: Path, values: Mapping[str, Any]) -> None:
    from .introspect import classes

    model_type = values.get("model_type")
    if not isinstance(model_type, str) or not model_type:
        raise BadRecipe(f"{path} names no model_type, so there is no telling what model it is for")
    if model_type not in classes.all_types():
        import transformers

        version = transformers.__version__
        raise BadRecipe(f"{path} is for model_type {model_type!r}, which transformers {version} does not have")


def _sane(path: Path, values: Mapping[str, Any]) -> None:
    """Refuses numbers that no model has, before a constructor loops over them."""
    from .shrink.layers import DEPTH, whole

    for name, value in _numbers(values, ""):
        last = name.rpartition(".")[2]
        if abs(value) > MOST_NUMBER or (whole(value) and DEPTH.fullmatch(last) and not 0 <= value <= MOST_LAYERS):
            raise BadRecipe(f"{path} asks for {name} = {value:g}, which no model has")


def _numbers(values: Mapping[str, Any], prefix: str) -> Iterator[tuple[str, float]]:
    for key, value in values.items():
        if isinstance(value, Mapping):
            yield from _numbers(value, f"{prefix}{key}.")
        elif isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) != float("inf"):
            yield f"{prefix}{key}", value


def _head(model_type: str, values: Mapping[str, Any], task: str) -> tuple[str, type]:
    """The head that the task or the file itself names, else the type's default."""
    from . import making
    from .introspect import classes

    heads = classes.task_heads(model_type)
    stated = values.get("architectures")
    for name in stated if isinstance(stated, list) and not task else ():
        for known, cls in heads:
            if cls == name and (found := classes.model_class(classes.config_class(model_type), cls)):
                return known, found
    return making.head(model_type, task)


def first_checkpoint(model_type: str) -> dict[str, Any]:
    """The checkpoint that "full" means for a type; BadRecipe when none is known."""
    rows = published.of_type(model_type)
    if not rows:
        raise BadRecipe(f"no checkpoint's true configuration is known for {model_type}: give its config.json")
    return rows[0]

"""A recipe from a config.json that somebody has: read with suspicion, refused with a clear message."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from assay_runner.catalogue import published
from assay_runner.errors import BadRecipe
from assay_runner.subjects import owncode

MOST_BYTES = 8 << 20
MOST_LAYERS = 10_000
MOST_NUMBER = 1 << 40
# Values of a published file that say how it is stored and not what the model is.
STORAGE = frozenset("architectures transformers_version _name_or_path torch_dtype dtype auto_map model_type".split())


def recipe(path: Path, task: str = "", trusted: bool = False) -> dict[str, Any]:
    """The recipe for a config.json, at its true size. Where trusted, a type that transformers does not have may be
    made by the code beside it."""
    from . import making

    path = path / "config.json" if path.is_dir() else path
    values = read(path)
    known, model_type = _known(path, values), values["model_type"]
    kept = {key: v for key, v in values.items() if key not in STORAGE}
    if known:
        named, cls = _head(model_type, values, task)
        return making.of_config(model_type, cls, named, kept)
    owncode.refuse(path, values, trusted)
    named, ref = owncode.head(values, task)
    code = {"folder": str(path.parent), "modeling": ref, "configuration": owncode.wanted(values)["AutoConfig"]}
    return making.of_config(model_type, owncode.found(code["folder"], ref), named, kept, code=code)


def read(path: Path) -> dict[str, Any]:
    """The values of a config.json; BadRecipe, in a sentence, when it cannot be one."""
    try:
        with path.open("rb") as file:
            text = file.read(MOST_BYTES + 1)
    except OSError as error:
        raise BadRecipe(f"cannot read {path}: {error.strerror or error}") from error
    if len(text) > MOST_BYTES:
        raise BadRecipe(f"{path} is larger than {MOST_BYTES >> 20} MiB: it is not a model configuration")
    try:
        values = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise BadRecipe(f"{path} is not JSON: {error}") from error
    if not isinstance(values, dict):
        raise BadRecipe(f"{path} does not hold a JSON object: it is not a model configuration")
    _sane(path, values)
    return values


def _known(path: Path, values: Mapping[str, Any]) -> bool:
    """Whether transformers has the type; False where the file names code of its own for one that it has not."""
    from assay_runner.introspection import classes

    model_type = values.get("model_type")
    if not isinstance(model_type, str) or not model_type:
        raise BadRecipe(f"{path} names no model_type, so there is no telling what model it is for")
    if model_type not in classes.all_types() and not owncode.wanted(values):
        import transformers

        version = transformers.__version__
        raise BadRecipe(f"{path} is for model_type {model_type!r}, which transformers {version} does not have")
    return model_type in classes.all_types()


def _sane(path: Path, values: Mapping[str, Any]) -> None:
    """Refuses numbers that no model has, before a constructor loops over them."""
    from assay_runner.subjects.shrinking.layers import DEPTH, STAGES, whole

    for name, value in _numbers(values, ""):
        last = next(part for part in reversed(name.split(".")) if not part.isdigit())  # of a list its name
        if abs(value) > MOST_NUMBER or (
            whole(value) and (DEPTH.fullmatch(last) or last in STAGES) and not 0 <= value <= MOST_LAYERS
        ):
            raise BadRecipe(f"{path} asks for {name} = {value:g}, which no model has")


def _numbers(values: Mapping[str, Any], prefix: str) -> Iterator[tuple[str, float]]:
    for key, value in values.items():
        if isinstance(value, Mapping):
            yield from _numbers(value, f"{prefix}{key}.")
        elif isinstance(value, list):
            yield from _numbers({f"{key}.{i}": item for i, item in enumerate(value)}, prefix)
        elif isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) != float("inf"):
            yield f"{prefix}{key}", value


def _head(model_type: str, values: Mapping[str, Any], task: str) -> tuple[str, type]:
    """The head that the task or the file itself names, else the type's default."""
    from assay_runner.introspection import classes

    from . import making

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

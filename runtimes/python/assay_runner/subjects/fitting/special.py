"""The few types that need a value of their own: rows of data, each with its reason.

A row is for one type, or for several that share the reason. It may say what the
default configuration is made with (``default``), what the small one has
(``set``, also where the type stands inside another), what its inputs are (see
`Inputs`), what its weights can bear (``gains``) and what a program needs of it
(``generate``). Several rows for one
type are taken together.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from typing import Any

from .layouts import Layout


@dataclass(frozen=True)
class Inputs:
    """What a type's rows say of its inputs; empty for all types without one."""

    main: tuple[str, ...] = ()  # where the class's own statement of its main inputs does not hold
    layouts: Mapping[str, Layout] = field(default_factory=dict)  # inputs that no table gives, or gives otherwise
    sizes: Mapping[str, int] = field(default_factory=dict)  # letters of shapes
    places: Mapping[str, int] = field(default_factory=dict)  # placeholders, where the model cannot be asked
    without: frozenset[str] = frozenset()  # inputs that usually go along and here must not
    unheeded: frozenset[str] = frozenset()  # inputs that must be there and that forward does not look at
    call: Mapping[str, Any] = field(default_factory=dict)  # switches of forward
    place: tuple[Mapping[str, Any], ...] = ()  # special tokens, by the name of their id, that the text must hold


# Shapes and counts in a type's rows are those of its small configuration.
ANY = ("tiny", "full")
SIZES = dict.fromkeys(("layouts", "sizes", "places"), ("tiny",))


@cache
def _table() -> dict[str, list[dict[str, Any]]]:
    text = resources.files("assay_runner").joinpath("data/special.json").read_text(encoding="utf-8")
    return json.loads(text)


def rows() -> list[dict[str, Any]]:
    """The rows for types."""
    return _table()["rows"]


def tasks() -> list[dict[str, Any]]:
    """The rows for tasks: what every head for a task wants of its inputs."""
    return _table()["tasks"]


def types(row: Mapping[str, Any]) -> list[str]:
    """The types that a row is for: one, or several that share its reason."""
    return [row["type"]] if isinstance(row["type"], str) else row["type"]


@cache
def _said(model_type: str) -> dict[str, Any]:
    """What the type's rows say together."""
    said: dict[str, Any] = {}
    for row in rows():
        if model_type in types(row):
            said = merge(said, {key: value for key, value in row.items() if key not in ("type", "why")})
    return said


def start(model_type: str) -> dict[str, Any]:
    """What the type's default configuration is made with, before it is made small; nothing for nearly all types."""
    return merge(_said(model_type).get("default", {}), {})


def amend(model_type: str, config: dict[str, Any]) -> dict[str, Any]:
    """The small configuration with the type's own values set, and those of the types that stand inside it."""
    inner = {key: value for key, value in config.items() if isinstance(value, dict)}
    config = config | {key: amend(value.get("model_type", ""), value) for key, value in inner.items()}
    return merge(config, _said(model_type).get("set", {}))


def inputs(recipe: Mapping[str, Any]) -> Inputs:
    """What the task's row and, over it, the type's rows say of a recipe's inputs."""
    said = next((row for row in tasks() if row["task"] == recipe["task"]), {})
    said = said | {key: value for key, value in _said(recipe["type"]).items() if recipe["size"] in SIZES.get(key, ANY)}
    return Inputs(
        tuple(said.get("inputs", ())),
        {name: _layout(spec) for name, spec in said.get("layouts", {}).items()},
        said.get("sizes", {}),
        said.get("places", {}),
        frozenset(said.get("without", ())),
        frozenset(said.get("unheeded", ())),
        said.get("call", {}),
        tuple(said.get("place", ())),
    )


def gains(model_type: str) -> tuple[float, ...]:
    """The gains of weights that the type can bear; empty where any may be tried."""
    return tuple(_said(model_type).get("gains", ()))


def generation(model_type: str) -> dict[str, Any]:
    """What the type's rows say of a program that generates."""
    return _said(model_type).get("generate", {})


def _layout(spec: Mapping[str, Any]) -> Layout:
    """A layout as a row writes it: numbers between -1 and 1 unless it names another kind."""
    return Layout(**{"kind": "float", "dtype": "float32", **spec, "shape": tuple(spec.get("shape", ()))})


def merge(values: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """The values with those of ``over`` set, also inside sub-configurations. Neither argument is changed."""
    merged = dict(values)
    for key, value in over.items():
        inner = merged.get(key)
        merged[key] = merge(inner, value) if isinstance(inner, dict) and isinstance(value, dict) else value
    return merged

"""The few types that need a value of their own: rows of data, each with its reason."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from typing import Any

from .fitting.layouts import Layout


@dataclass(frozen=True)
class Inputs:
    """What a type's row says of its inputs; empty for all types without one."""

    main: tuple[str, ...] = ()  # where the class's own statement of its main inputs does not hold
    layouts: Mapping[str, Layout] = field(default_factory=dict)  # inputs that no table gives, or gives otherwise
    without: frozenset[str] = frozenset()  # inputs that usually go along and here must not
    unheeded: frozenset[str] = frozenset()  # inputs that must be there and that forward does not look at
    call: Mapping[str, Any] = field(default_factory=dict)  # switches of forward
    place: tuple[Mapping[str, Any], ...] = ()  # special tokens, by the name of their id, that the text must hold


@cache
def rows(section: str) -> tuple[dict[str, Any], ...]:
    """The rows of a section of special.json."""
    text = resources.files(__package__).joinpath("data/special.json").read_text(encoding="utf-8")
    return tuple(json.loads(text)[section])


def amend(model_type: str, config: dict[str, Any]) -> dict[str, Any]:
    """The small configuration with the type's own values set, and those of the types that stand inside it."""
    inner = {key: value for key, value in config.items() if isinstance(value, dict)}
    config = config | {key: amend(value.get("model_type", ""), value) for key, value in inner.items()}
    for row in rows("config"):
        if row["type"] == model_type:
            config = merge(config, row["set"])
    return config


def row(section: str, model_type: str) -> dict[str, Any]:
    """The type's row of a section; empty for types that have none."""
    return next((one for one in rows(section) if one["type"] == model_type), {})


def inputs(model_type: str, task: str = "") -> Inputs:
    """What the task's row and, over it, the type's row say of the inputs."""
    said = next((one for one in rows("tasks") if one["task"] == task), {}) | row("inputs", model_type)
    layouts = {name: _layout(spec) for name, spec in said.get("layouts", {}).items()}
    without, unheeded = (frozenset(said.get(key, ())) for key in ("without", "unheeded"))
    main, place = tuple(said.get("inputs", ())), tuple(said.get("place", ()))
    return Inputs(main, layouts, without, unheeded, said.get("call", {}), place)


def _layout(spec: Mapping[str, Any]) -> Layout:
    """A layout as a row writes it: numbers between -1 and 1 unless it names another kind."""
    return Layout(**{"kind": "float", "dtype": "float32", **spec, "shape": tuple(spec.get("shape", ()))})


def merge(values: dict[str, Any], over: dict[str, Any]) -> dict[str, Any]:
    """The values with those of ``over`` set, also inside sub-configurations. Neither argument is changed."""
    merged = dict(values)
    for key, value in over.items():
        inner = merged.get(key)
        merged[key] = merge(inner, value) if isinstance(inner, dict) and isinstance(value, dict) else value
    return merged

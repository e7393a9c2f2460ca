"""The few types that need a value of their own: rows of data, each with its reason."""

from __future__ import annotations

import json
from functools import cache
from importlib import resources
from typing import Any


@cache
def rows(section: str) -> tuple[dict[str, Any], ...]:
    """The rows of a section of special.json."""
    text = resources.files(__package__).joinpath("data/special.json").read_text(encoding="utf-8")
    return tuple(json.loads(text)[section])


def start(model_type: str) -> dict[str, Any]:
    """What the type's default configuration is made with, before it is made small; nothing for nearly all types."""
    return _together("config", model_type, "default")


def amend(model_type: str, config: dict[str, Any]) -> dict[str, Any]:
    """The small configuration with the type's own values set."""
    return merge(config, _together("config", model_type, "set"))


def inputs(model_type: str) -> dict[str, Any]:
    """What is known of the inputs of a type that no rule fits; empty for nearly all.

    ``inputs`` names the main ones where the type's own statement of them does not hold, ``shapes`` gives the layout of
    single inputs, ``sizes`` letters of shapes, ``places`` how many placeholder ids a modality has.
    """
    return next((row for row in rows("inputs") if model_type in types(row)), {})


def types(row: dict[str, Any]) -> list[str]:
    """The types that a row is for: one, or several that share its reason."""
    return [row["type"]] if isinstance(row["type"], str) else row["type"]


def _together(section: str, model_type: str, key: str) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for row in rows(section):
        if model_type in types(row):
            found = merge(found, row.get(key, {}))
    return found


def merge(values: dict[str, Any], over: dict[str, Any]) -> dict[str, Any]:
    """The values with those of ``over`` set, also inside sub-configurations. Neither argument is changed."""
    merged = dict(values)
    for key, value in over.items():
        inner = merged.get(key)
        merged[key] = merge(inner, value) if isinstance(inner, dict) and isinstance(value, dict) else value
    return merged

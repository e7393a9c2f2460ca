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


def amend(model_type: str, config: dict[str, Any]) -> dict[str, Any]:
    """The small configuration with the type's own values set."""
    for row in rows("config"):
        if row["type"] == model_type:
            config = merge(config, row["set"])
    return config


def inputs(model_type: str) -> tuple[str, ...]:
    """The main inputs of a type whose own statement of them does not hold; empty for all others."""
    return next((tuple(row["inputs"]) for row in rows("inputs") if row["type"] == model_type), ())


def merge(values: dict[str, Any], over: dict[str, Any]) -> dict[str, Any]:
    """The values with those of ``over`` set, also inside sub-configurations. Neither argument is changed."""
    merged = dict(values)
    for key, value in over.items():
        inner = merged.get(key)
        merged[key] = merge(inner, value) if isinstance(inner, dict) and isinstance(value, dict) else value
    return merged

"""Known checkpoints: their true configuration values, where those come from, and their published size."""

from __future__ import annotations

import json
from functools import cache
from importlib import resources
from typing import Any


@cache
def checkpoints() -> tuple[dict[str, Any], ...]:
    """Every row of checkpoints.json, in its order."""
    text = resources.files(__package__).joinpath("data/checkpoints.json").read_text(encoding="utf-8")
    return tuple(json.loads(text)["checkpoints"])


def of_type(model_type: str) -> list[dict[str, Any]]:
    """The type's checkpoints; the first one is what "full" means where none is named."""
    return [row for row in checkpoints() if row["type"] == model_type]


def named(name: str) -> dict[str, Any]:
    """The checkpoint of that name, with or without its owner."""
    for row in checkpoints():
        if name in (row["name"], row["name"].rpartition("/")[2]):
            return row
    raise KeyError(f"no configuration is known for the checkpoint {name!r}")

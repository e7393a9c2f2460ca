"""The models that trials are about."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

CATALOGUE = Path(__file__).parents[4] / "internal/catalog/data/recipes.json"

Recipe = dict[str, Any]


def tiny() -> dict[str, Recipe]:
    """The tiny recipe of every type that has one, by the type's name."""
    recipes = json.loads(CATALOGUE.read_text(encoding="utf-8"))["recipes"]
    return {recipe["type"]: recipe for recipe in sorted(recipes, key=_type) if recipe.get("size") == "tiny"}


def chosen(names: Sequence[str], count: int, seed: int) -> list[Recipe]:
    """The recipes of the named types, or of so many that are drawn; all of them for none."""
    known = tiny()
    if unknown := [name for name in names if name not in known]:
        raise SystemExit(f"no tiny recipe for: {', '.join(unknown)}")
    picked = names or (random.Random(seed).sample(sorted(known), count) if count else list(known))
    return [known[name] for name in picked]


def _type(recipe: Recipe) -> str:
    return recipe["type"]

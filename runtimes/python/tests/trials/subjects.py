"""The models that trials are about."""

from __future__ import annotations

import argparse
import json
import os
import random
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

CATALOGUE = Path(__file__).parents[4] / "internal/catalog/data/recipes.json"

Recipe = dict[str, Any]


def parser(name: str, about: str | None, count: int, seed: int, limit: float) -> argparse.ArgumentParser:
    """The options that all trials have: which models, how many at once, and for how long. No count means all."""
    made = argparse.ArgumentParser(prog=name, description=about)
    made.add_argument("types", nargs="*", help="types to take instead of drawn ones")
    made.add_argument("--count", type=int, default=count, help=f"how many types to draw ({count or 'all'})")
    made.add_argument("--draw", type=int, default=seed, help=f"seed to draw types by ({seed})")
    made.add_argument("--processes", type=int, default=os.cpu_count(), help="how many models at once")
    made.add_argument("--limit", type=float, default=limit, help=f"seconds for one of them ({limit:g})")
    made.add_argument("--loud", action="store_true", help="show what libraries print")
    return made


def keep(out: str, rows: Iterable[dict[str, Any]]) -> None:
    """Adds lines to a file of results, where one is named."""
    if out:
        with Path(out).open("a", encoding="utf-8") as file:
            file.writelines(json.dumps(row) + "\n" for row in rows)


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

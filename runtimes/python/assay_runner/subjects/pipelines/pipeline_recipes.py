"""Recipes of pipelines: ``python -m assay_runner pipelines``.

Each is made in a fresh process, since what one pipeline imports, changes or leaks is not the business
of the next; what crashes or hangs costs only itself.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

SCHEMA = 1
LIMIT_S = 600  # for one pipeline; the search itself is bounded by its tables, this is for those that hang

Order = tuple[str, str]
"""A type and a task."""


def make_one(order: Order) -> dict[str, Any]:
    """Makes one recipe. A failure is returned, not raised."""
    import torch

    from assay_runner.subjects.diffusion import release

    from . import drafting

    torch.set_num_threads(1)
    release.module("utils.logging").set_verbosity_error()
    try:
        return drafting.tiny(*order)
    except Exception as error:  # noqa: BLE001 - one pipeline's failure is a line in the list of failures
        return {"type": order[0], "task": order[1], "error": f"{type(error).__name__}: {error}"}


def make(orders: Sequence[Order], workers: int) -> list[dict[str, Any]]:
    """Makes recipes, telling of each as it comes. Failures carry ``error``."""
    from assay_runner.process import isolation

    made = []
    for outcome in isolation.outcomes(make_one, orders, workers, LIMIT_S):
        model_type, task = outcome.argument
        recipe = outcome.answer or {"type": model_type, "task": task, "error": outcome.trouble}
        print(f"{model_type} {task}: {recipe.get('error') or recipe['class']}", file=sys.stderr, flush=True)
        made.append(recipe)
    return made


def write(recipes: Sequence[dict[str, Any]], path: Path) -> None:
    """Writes recipes by type, the default task of each first, one recipe a line."""
    from assay_runner.subjects.diffusion import release

    from . import tasks

    order = {(head.type, head.task): number for number, head in reversed(list(enumerate(tasks.heads())))}
    rows = sorted(recipes, key=lambda recipe: (recipe["type"], order[recipe["type"], recipe["task"]]))
    lines = ",\n".join(json.dumps(row, ensure_ascii=False, separators=(",", ":")) for row in rows)
    head = json.dumps({"schema": SCHEMA, "diffusers": release.version()})[:-1]
    path.write_text(f'{head}, "recipes": [\n{lines}\n]}}\n', encoding="utf-8")


def read(path: Path) -> list[dict[str, Any]]:
    """The recipes of a file that `write` wrote; none where there is no file."""
    return json.loads(path.read_text(encoding="utf-8"))["recipes"] if path.exists() else []


def main(argv: Sequence[str] | None = None) -> int:
    """Makes recipes and writes those that hold; prints the others with their reasons."""
    parser = argparse.ArgumentParser(prog="assay_runner pipelines", description=__doc__)
    parser.add_argument("--types", nargs="*", default=[], help="recipes for these types; all when left out")
    parser.add_argument("--tasks", nargs="*", default=[], help="only for these tasks")
    parser.add_argument("--out", type=Path, required=True, help="the file of recipes to write")
    parser.add_argument("--keep", action="store_true", help="keep the file's recipes of other types and tasks")
    parser.add_argument("--workers", type=int, default=2, help="how many to make in parallel (default 2)")
    options = parser.parse_args(argv)

    from . import tasks

    orders = list(dict.fromkeys(
        (head.type, head.task) for head in tasks.heads()
        if head.type in (options.types or [head.type]) and head.task in (options.tasks or [head.task])
    ))  # fmt: skip
    made = make(orders, options.workers)
    good = [recipe for recipe in made if "error" not in recipe]
    kept = [old for old in read(options.out) if (old["type"], old["task"]) not in orders] if options.keep else []
    write([*kept, *good], options.out)
    print(f"{len(good)} recipes, {len(made) - len(good)} without", file=sys.stderr)
    return 0

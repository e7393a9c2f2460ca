"""Recipes of pipelines: ``python -m assay_runner pipelines``.

Each is made in a fresh process, since what one pipeline imports, changes or leaks is not the business
of the next; what crashes or hangs costs only itself.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

SCHEMA = 1
LIMIT_S = 600  # for one pipeline; the search itself is bounded by its tables, this is for those that hang

Recipe = dict[str, Any]
Order = tuple[str, str]
"""A type and a task."""


def make_one(wanted: Recipe) -> Recipe:
    """Makes one recipe, of which type and task are given. A failure is returned, not raised."""
    from . import drafting

    return _caught(wanted, lambda: drafting.tiny(*_order(wanted)))


def judge_one(recipe: Recipe) -> Recipe:
    """A recipe with what its pipeline is judged by, found again. A failure is returned, not raised."""
    from . import drafting

    return _caught(recipe, lambda: drafting.judged(recipe))


def _caught(wanted: Recipe, work: Callable[[], Recipe]) -> Recipe:
    import torch

    from assay_runner.subjects.diffusion import release

    torch.set_num_threads(1)
    release.module("utils.logging").set_verbosity_error()
    try:
        return work()
    except Exception as error:  # noqa: BLE001 - one pipeline's failure is a line in the list of failures
        return _failed(wanted, f"{type(error).__name__}: {error}")


def _failed(wanted: Recipe, why: str) -> Recipe:
    return {"type": wanted["type"], "task": wanted["task"], "error": why}


def _order(recipe: Recipe) -> Order:
    return recipe["type"], recipe["task"]


def make(work: Callable[[Recipe], Recipe], wanted: Iterable[Recipe], workers: int) -> Iterator[Recipe]:
    """Does the work for each recipe in a process of its own, telling of each as it comes. Failures carry ``error``."""
    from assay_runner.process import isolation

    for outcome in isolation.outcomes(work, list(wanted), workers, LIMIT_S):
        recipe = outcome.answer or _failed(outcome.argument, outcome.trouble)
        told = recipe.get("error") or recipe["class"]
        print(f"{recipe['type']} {recipe['task']}: {told}", file=sys.stderr, flush=True)
        yield recipe


def write(recipes: Iterable[Recipe], path: Path) -> None:
    """Writes recipes by type, the default task of each first, one recipe a line."""
    from assay_runner.subjects.diffusion import release

    from . import tasks

    order = {(head.type, head.task): number for number, head in reversed(list(enumerate(tasks.heads())))}
    rows = sorted(recipes, key=lambda recipe: (recipe["type"], order[recipe["type"], recipe["task"]]))
    lines = ",\n".join(json.dumps(row, ensure_ascii=False, separators=(",", ":")) for row in rows)
    head = json.dumps({"schema": SCHEMA, "diffusers": release.version()})[:-1]
    part = path.with_name(path.name + ".part")
    part.write_text(f'{head}, "recipes": [\n{lines}\n]}}\n', encoding="utf-8")
    part.replace(path)


def read(path: Path) -> list[Recipe]:
    """The recipes of a file that `write` wrote; none where there is no file."""
    return json.loads(path.read_text(encoding="utf-8"))["recipes"] if path.exists() else []


def main(argv: Sequence[str] | None = None) -> int:
    """Makes recipes and writes those that hold; prints the others with their reasons."""
    parser = argparse.ArgumentParser(prog="assay_runner pipelines", description=__doc__)
    parser.add_argument("--types", nargs="*", default=[], help="recipes for these types; all when left out")
    parser.add_argument("--tasks", nargs="*", default=[], help="only for these tasks")
    parser.add_argument("--out", type=Path, required=True, help="the file of recipes to write")
    parser.add_argument("--keep", action="store_true", help="keep the file's recipes of other types and tasks")
    parser.add_argument("--judge", action="store_true", help="make none: find again what the file's are judged by")
    parser.add_argument("--workers", type=int, default=2, help="how many to make in parallel (default 2)")
    options = parser.parse_args(argv)

    from . import tasks

    orders = dict.fromkeys(
        (head.type, head.task) for head in tasks.heads()
        if head.type in (options.types or [head.type]) and head.task in (options.tasks or [head.task])
    )  # fmt: skip
    kept = {_order(recipe): recipe for recipe in read(options.out)}
    if options.judge:
        work, wanted = judge_one, [kept[order] for order in orders if order in kept]
    else:
        work, wanted = make_one, [{"type": kind, "task": task} for kind, task in orders]
        kept = {order: old for order, old in kept.items() if options.keep and order not in orders}
    good = 0
    write(kept.values(), options.out)
    for recipe in make(work, wanted, options.workers):
        if "error" not in recipe:
            good += 1
            kept[_order(recipe)] = recipe
            write(kept.values(), options.out)  # each as it comes: one that is stopped keeps what it made
    print(f"{good} recipes, {len(wanted) - good} without", file=sys.stderr)
    return 0

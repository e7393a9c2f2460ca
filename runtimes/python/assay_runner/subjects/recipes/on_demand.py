"""Recipes on demand: ``python -m assay_runner recipes`` and the protocol's ``recipe`` job.

Making one means searching, so it is done when the catalogue is made, and again only for
a type or a configuration that has no recipe. Running a cell just follows it.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from assay_runner.catalogue import published
from assay_runner.process.emit import Emit

SCHEMA = 1
LIMIT_S = 900  # for one type; the search itself is bounded by its tables, this is for models that hang


def answer(job: dict[str, Any], emit: Emit) -> None:
    """Answers a ``recipe`` job: for the cell's type or checkpoint, or for ``options.config``, a config.json's path.

    ``options.recipe`` is one that another release made: it is the answer where it still holds.
    """
    from . import adopting, given, making, onnxfile

    cell, options = job.get("cell") or {}, job.get("options") or {}
    if options.get("recipe") and adopting.holds(options["recipe"]):
        recipe = options["recipe"]
    elif str(options.get("config", "")).endswith(".onnx"):
        recipe = onnxfile.recipe(Path(options["config"]))
    elif options.get("config"):
        trusted = bool(options.get("trust_remote_code"))
        recipe = given.recipe(Path(options["config"]), cell.get("task", ""), trusted)
        if not Path(cell.get("checkpoint", "")).is_absolute():  # a path of this machine names nothing elsewhere
            recipe["checkpoint"] = cell.get("checkpoint", "")
    elif cell.get("checkpoint"):
        recipe = making.full(published.named(cell["checkpoint"]), cell.get("task", ""))
    elif cell.get("size") == "full":
        recipe = making.full(given.first_checkpoint(cell["type"]), cell.get("task", ""))
    else:
        recipe = making.tiny(cell.get("type", ""), cell.get("task", ""))
    emit.data(recipe)


Recipe = dict[str, Any]
Order = tuple[str, str]
"""A type, and a checkpoint for size full or nothing for tiny."""


def make_one(order: Order) -> Recipe:
    """Makes one recipe. A failure is returned, not raised."""
    import torch

    from . import making

    torch.set_num_threads(1)
    model_type, checkpoint = order
    try:
        recipe = making.full(published.named(checkpoint)) if checkpoint else making.tiny(model_type)
    except Exception as error:  # noqa: BLE001 - one type's failure is a line in the list of failures
        return {"type": model_type, "checkpoint": checkpoint, "error": f"{type(error).__name__}: {error}"}
    return recipe


def judge_one(recipe: Recipe) -> Recipe:
    """A tiny recipe with what its model is judged by, found again; a failure is returned, not raised."""
    import torch

    from . import making

    torch.set_num_threads(1)
    try:
        return making.judged(recipe)
    except Exception as error:  # noqa: BLE001 - one type's failure is a line in the list of failures
        return {**recipe, "error": f"{type(error).__name__}: {error}"}


def judge(recipes: Sequence[Recipe], workers: int, report: Callable[[Recipe], None]) -> list[Recipe]:
    """The recipes, those of size tiny judged again in fresh processes; one whose judging fails stays as it was."""
    from assay_runner.process import isolation

    from . import making  # noqa: F401 - imported once here, shared by all children

    made = [recipe for recipe in recipes if recipe["size"] != "tiny"]
    tiny = [recipe for recipe in recipes if recipe["size"] == "tiny"]
    for outcome in isolation.outcomes(judge_one, tiny, workers, LIMIT_S):
        recipe = outcome.answer or {**outcome.argument, "error": outcome.trouble}
        report(recipe)
        made.append(outcome.argument if "error" in recipe else recipe)
    return made


def make(orders: Sequence[Order], workers: int, report: Callable[[Recipe], None]) -> list[Recipe]:
    """Makes recipes in fresh processes: what crashes or hangs costs only itself. Failures carry ``error``."""
    import transformers

    from assay_runner.process import isolation

    from . import making  # noqa: F401 - imported once here, shared by all children

    transformers.logging.set_verbosity(transformers.logging.CRITICAL)
    made = []
    for outcome in isolation.outcomes(make_one, orders, workers, LIMIT_S):
        model_type, checkpoint = outcome.argument
        recipe = outcome.answer or {"type": model_type, "checkpoint": checkpoint, "error": outcome.trouble}
        report(recipe)
        made.append(recipe)
    return made


COMPONENT = "component of other models"


def gaps(made: Sequence[Recipe]) -> list[dict[str, str]]:
    """The types for which no tiny recipe could be made, with what went wrong on the first rung."""
    failed = [one for one in made if "error" in one and not one["checkpoint"] and COMPONENT not in one["error"]]
    return sorted(
        ({"type": one["type"], "reason": _first(one["error"])} for one in failed), key=lambda one: one["type"]
    )


def _first(error: str) -> str:
    return " ".join(error.removeprefix("NoRecipe: ").partition(" | ")[0].split())[:300]


def write(recipes: Sequence[Recipe], path: Path, version: str, without: Sequence[dict[str, str]] = ()) -> None:
    """Writes recipes by type, one recipe a line; then the types that have none, with the reasons."""
    rows = sorted(recipes, key=lambda r: (r["type"], r["size"] == "full", r["checkpoint"]))
    lines = ",\n".join(json.dumps(row, ensure_ascii=False, separators=(",", ":")) for row in rows)
    head = json.dumps({"schema": SCHEMA, "transformers": version})[:-1]
    missing = ",\n".join(json.dumps(row, ensure_ascii=False, separators=(",", ":")) for row in without)
    path.write_text(f'{head}, "recipes": [\n{lines}\n], "gaps": [\n{missing}\n]}}\n', encoding="utf-8")


def write_index(recipes: Sequence[dict[str, Any]], path: Path) -> None:
    """Writes the checkpoints that have a recipe, with their sizes and sources, for looking names up."""
    counts = {row["checkpoint"]: row["parameters"] for row in recipes if row["checkpoint"]}
    kept = ("name", "type", "class", "task", "published", "source")
    rows = [{**{key: row[key] for key in kept}, "parameters": counts[row["name"]]}
            for row in published.checkpoints() if row["name"] in counts]  # fmt: skip
    lines = ",\n".join(json.dumps(row, separators=(",", ":")) for row in rows)
    path.write_text(f'{{"schema": {SCHEMA}, "checkpoints": [\n{lines}\n]}}\n', encoding="utf-8")


def main(argv: Sequence[str] | None = None) -> int:
    """Makes recipes and writes those that hold; prints the others with their reasons."""
    parser = argparse.ArgumentParser(prog="assay_runner recipes", description=__doc__)
    parser.add_argument("--types", nargs="*", default=[], help="tiny recipes for these types; all types when left out")
    parser.add_argument("--checkpoints", nargs="*", help="full recipes for these (all known ones when left out)")
    parser.add_argument("--out", type=Path, required=True, help="the file of recipes to write")
    parser.add_argument("--judge", type=Path, help="make none: judge the tiny recipes of this file again")
    parser.add_argument("--index", type=Path, help="the list of checkpoints to write")
    parser.add_argument("--workers", type=int, default=2, help="how many to make in parallel (default 2)")
    options = parser.parse_args(argv)

    if options.judge:
        return _judge_again(options.judge, options.out, options.workers)
    import transformers

    from assay_runner.introspection import classes

    known = [row["name"] for row in published.checkpoints()]
    names = known if options.checkpoints is None else options.checkpoints
    orders = [(model_type, "") for model_type in options.types or classes.all_types()]
    orders += [(published.named(name)["type"], published.named(name)["name"]) for name in names]
    made = make(orders, options.workers, _report)
    good = [recipe for recipe in made if "error" not in recipe]
    write(good, options.out, transformers.__version__, gaps(made))
    if options.index:
        write_index(good, options.index)
    print(f"{len(good)} recipes, {len(made) - len(good)} without", file=sys.stderr)
    return 0


def _judge_again(book: Path, out: Path, workers: int) -> int:
    kept = json.loads(book.read_text(encoding="utf-8"))
    write(judge(kept["recipes"], workers, _report), out, kept["transformers"], kept["gaps"])
    return 0


def _report(recipe: dict[str, Any]) -> None:
    name = recipe["checkpoint"] or recipe["type"]
    print(f"{name}: {recipe.get('error') or recipe['class']}", file=sys.stderr, flush=True)

"""``python -m assay_runner processors``: recipes against the processors of their types, as a table or as JSON."""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from assay_runner.errors import RunnerError

from .verdict import Verdict, judge

STATUSES = {
    "agrees": "everything that carries the model's input is as a processor produces it",
    "partly": "what could be compared agrees; some main input has no processor that can be made here",
    "differs": "something differs on purpose; the reason is known",
    "disagrees": "something differs and should not",
    "none": "no processor that can be made here gives any main input",
}


def verdicts(recipes: Iterable[dict[str, Any]], types: Sequence[str] = ()) -> list[Verdict]:
    """The verdicts on the tiny recipes of models of transformers, of these types or of all."""
    wanted = (recipe for recipe in recipes if recipe["size"] == "tiny" and not recipe.get("library"))
    return [_verdict(recipe) for recipe in wanted if not types or recipe["type"] in types]


def _verdict(recipe: dict[str, Any]) -> Verdict:
    """The verdict; a recipe that this release cannot follow has none."""
    try:
        return judge(recipe)
    except RunnerError as error:
        names = tuple(spec["name"] for spec in recipe["inputs"])
        return Verdict(recipe["type"], "none", (), (), names, (), (str(error),))


def rows(found: Sequence[Verdict]) -> str:
    """What each type was compared with, as Markdown."""
    lines = [
        f"| {one.type} | {one.status} | {', '.join(one.processors)} | {', '.join(one.compared)} |" for one in found
    ]
    return "\n".join(["| type | verdict | processors | inputs |", "| --- | --- | --- | --- |", *lines])


def summary(found: Sequence[Verdict]) -> str:
    """How many types came to which verdict, as Markdown."""
    counts = Counter(verdict.status for verdict in found)
    rows = [f"| {status} | {counts[status]} | {meaning} |" for status, meaning in STATUSES.items()]
    return "\n".join(["| verdict | types | meaning |", "| --- | ---: | --- |", *rows])


def differences(found: Sequence[Verdict]) -> str:
    """What differs, by reason, as Markdown; disagreements have none."""
    rows = {}
    for verdict in found:
        for difference in verdict.differences:
            rows.setdefault(difference.why or f"**disagrees:** {difference.text}", []).append(verdict.type)
    lines = [f"| {', '.join(dict.fromkeys(types))} | {why} |" for why, types in sorted(rows.items())]
    return "\n".join(["| types | why they differ from their processor |", "| --- | --- |", *lines])


def unasked(found: Sequence[Verdict]) -> str:
    """Why inputs were not compared, by reason, as Markdown."""
    rows: dict[str, list[str]] = {}
    for verdict in found:
        for why in verdict.reasons:
            rows.setdefault(why, []).append(verdict.type)
    lines = [f"| {', '.join(types)} | {why} |" for why, types in sorted(rows.items())]
    return "\n".join(["| types | why their inputs were not compared |", "| --- | --- |", *lines])


def main(argv: Sequence[str] | None = None) -> int:
    """Prints the tables, for named types also what each was compared with, or JSON. Where a recipe disagrees the exit
    status is 3."""
    parser = argparse.ArgumentParser(prog="assay_runner processors", description=__doc__)
    parser.add_argument("--types", nargs="*", default=[], help="only these types; all of the file when left out")
    parser.add_argument("--recipes", type=Path, required=True, help="the file of recipes")
    parser.add_argument("--json", action="store_true", help="print every verdict as JSON")
    options = parser.parse_args(argv)

    import torch
    import transformers

    torch.set_num_threads(1)
    transformers.logging.set_verbosity(transformers.logging.CRITICAL)
    found = verdicts(json.loads(options.recipes.read_text(encoding="utf-8"))["recipes"], options.types)
    if options.json:
        json.dump({"schema": 1, "verdicts": [verdict.written() for verdict in found]}, sys.stdout, indent=1)
        print()
    else:
        types = [rows(found)] if options.types else []
        print("\n\n".join([*types, summary(found), differences(found), unasked(found)]))
    return 3 if any(verdict.status == "disagrees" for verdict in found) else 0

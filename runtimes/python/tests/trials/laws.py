"""Laws that a right model obeys: of models that nobody changed, and of a library with faults planted in it."""

from __future__ import annotations

import argparse
import gc
import json
import os
import random
import statistics
import sys
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from assay_runner.engines import preimporting
from assay_runner.process import libraries

from . import children, subjects
from .children import DIED


@dataclass(frozen=True)
class Unchanged:
    """A type whose library nobody changed."""

    recipe: dict[str, Any]

    def run(self) -> dict[str, Any]:
        """Every law's row."""
        from . import lawful

        gc.enable()
        return {"laws": lawful.Lawful.of(self.recipe).rows()}


def unchanged(options: argparse.Namespace) -> int:
    """All laws over all types, in an order that the seed decides."""
    names = options.types or [name for name, recipe in subjects.tiny().items() if not recipe.get("library")]
    recipes = [recipe for recipe in subjects.chosen(names, 0, 0) if not recipe.get("program")]
    random.Random(options.draw).shuffle(recipes)
    counts, times, total = defaultdict(Counter), defaultdict(list), []
    items = [Unchanged(recipe) for recipe in recipes[: options.most or None]]
    libraries.settle()  # as the runner does, so that times are the runner's
    for item, answer in children.each(items, Unchanged.run, options.processes, options.limit, options.loud):
        row = {"type": item.recipe["type"], **answer}
        subjects.keep(options.out, [row])
        if DIED in answer:
            print(f"{row['type']}: {answer[DIED]}", flush=True)
            continue
        total.append(sum(law["ms"] for law in answer["laws"]))
        for law in answer["laws"]:
            counts[law["law"]][law["status"]] += 1
            times[law["law"]].append(law["ms"])
            if law["status"] in ("broken", "unknown"):
                far = law["max_rel"], law["tolerance"], law["output"]
                print(json.dumps([row["type"], law["law"], law["status"], *far, law["why"]]), flush=True)
    gc.unfreeze()
    _print(counts, times, total)
    return 0


def _print(counts: dict[str, Counter], times: dict[str, list[float]], total: list[float]) -> None:
    print(f"\n{'law':12} holds broken unknown not-applicable   median ms")
    for law, found in counts.items():
        told = f"{found['holds']:5} {found['broken']:6} {found['unknown']:7} {found['not-applicable']:14}"
        print(f"{law:12} {told} {statistics.median(times[law]):11.1f}")
    if total:
        middle, mean = statistics.median(total), statistics.mean(total)
        print(f"{len(total)} types; all laws of one: median {middle:.0f} ms, mean {mean:.0f} ms")


def main(arguments: Sequence[str] | None = None) -> int:
    """The program."""
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    parser = subjects.parser("laws", __doc__, count=16, seed=19, limit=300)
    parser.add_argument("--unchanged", action="store_true", help="all laws over all types, with nothing planted")
    parser.add_argument("--most", type=int, default=0, help="with --unchanged: so many types (all)")
    parser.add_argument("--out", default="", help="file for a JSON line per type or fault")
    parser.add_argument("--least", type=float, default=0.9, help="share of faults that must be noticed (0.9)")
    options = parser.parse_args(arguments)
    children.prepare()
    preimporting.before_fork({"laws": True})
    if options.unchanged:
        return unchanged(options)
    from . import lawbreaking

    return lawbreaking.trial(options)


if __name__ == "__main__":
    sys.exit(main())

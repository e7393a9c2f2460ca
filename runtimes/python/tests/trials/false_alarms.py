"""Models that nobody changed: with other seeds, other numbers of threads and rows elsewhere, no check may fail."""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from . import children, subjects
from .checks import Check
from .children import DIED

ENGINES = ("torch", "onnxruntime", "openvino")
_THREADS = (1, 2)
_BATCH = 3


@dataclass(frozen=True)
class Batch:
    """What one child does: the checks of a model with a seed, which share an exported graph."""

    recipe: dict[str, Any]
    seed: int
    rows: bool  # of a batch, moved; otherwise with several numbers of threads
    engines: tuple[str, ...]
    exports: Path

    def run(self) -> dict[str, Any]:
        """What every check saw."""
        with tempfile.TemporaryDirectory(dir=self.exports) as folder:
            done = (self._moved if self.rows else self._threaded)(Path(folder))
        return {"checks": [asdict(seen) | about for about, seen in done]}

    def _threaded(self, exports: Path) -> list[Any]:
        return [
            (self._about(engine, threads=n), Check(self.recipe, engine, exports, self.seed, n).seen())
            for engine in self.engines
            for n in _THREADS
        ]

    def _moved(self, exports: Path) -> list[Any]:
        from .rows import moved

        checks = [Check(self.recipe, engine, exports, self.seed, batch=_BATCH) for engine in self.engines]
        return [
            (self._about(check.engine, moved=by), check.caught(lambda check=check, by=by: moved(check, by)))
            for check in checks
            for by in range(1, _BATCH)
        ]

    def _about(self, engine: str, **more: Any) -> dict[str, Any]:
        return {"type": self.recipe["type"], "engine": engine, "seed": self.seed, **more}


def alarms(rows: Sequence[dict[str, Any]]) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The checks that count, and the alarms among them. A model that an engine refuses, or gets wrong with every seed
    and number of threads, does not work there: that is no false alarm. What could not be judged says nothing."""
    works = {(row["type"], row["engine"]) for row in rows if row["verdict"] == "works"}
    counted = [row for row in rows if row["verdict"] != "unjudged" and (row["type"], row["engine"]) in works]
    return counted, [row for row in counted if row["verdict"] != "works"]


def tried(options: argparse.Namespace, root: Path) -> list[dict[str, Any]]:
    """All checks, until there are enough."""
    recipes = subjects.chosen(options.types, options.count, options.draw)
    batches = [
        Batch(recipe, seed, rows, tuple(options.engines), root)
        for seed in range(options.first_seed, options.first_seed + options.seeds)
        for recipe in recipes
        for rows in (False, True)[: 2 if seed == options.first_seed else 1]
    ]
    found: list[dict[str, Any]] = []
    for batch, answer in children.each(batches, Batch.run, options.processes, options.limit, options.loud):
        found += answer.get("checks", [])
        subjects.keep(options.out, answer.get("checks", []))
        if DIED in answer:
            print(f"{batch.recipe['type']}, seed {batch.seed}: {answer[DIED]}", flush=True)
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    """The program."""
    parser = subjects.parser("false_alarms", __doc__, count=34, seed=17, limit=900)
    parser.add_argument("--seeds", type=int, default=5, help="how many seeds of weights and inputs (5)")
    parser.add_argument("--first-seed", type=int, default=1, help="the first of them (1)")
    parser.add_argument("--engines", type=lambda s: s.split(","), default=list(ENGINES), help=", ".join(ENGINES))
    parser.add_argument("--out", default="", help="file for a JSON line per check")
    parser.add_argument("--most", type=float, default=1e-3, help="share of checks that may be false alarms (0.001)")
    options = parser.parse_args(arguments)
    children.prepare()
    with tempfile.TemporaryDirectory(prefix="alarms-") as folder:
        rows = tried(options, Path(folder))
    counted, wrong = alarms(rows)
    for row in wrong:
        print("alarm: " + ", ".join(f"{key} {value}" for key, value in row.items() if value not in (None, "")))
    print(f"{dict(Counter(row['verdict'] for row in rows))}")
    print(f"{len(wrong)} alarms in {len(counted)} checks")
    return 0 if counted and len(wrong) <= options.most * len(counted) else 1


if __name__ == "__main__":
    sys.exit(main())

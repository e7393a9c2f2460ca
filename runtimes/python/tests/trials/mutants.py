"""Faults planted in engines: the check must notice them."""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from assay_runner.checking import tolerances

from . import children, subjects
from .checks import CELLS, Check, paged
from .children import DIED
from .mutating import MUTATIONS
from .planting import NOTHING, Mutant, apart, breed, planted

ENGINES = ("onnxruntime", "openvino", "qnn", "webnn")
NOTICED, SURVIVED, REMOVED, LACKING, UNCOUNTED = "noticed", "survived", "removed", "not applicable", "not counted"


@dataclass(frozen=True)
class Trial:
    """A model on an engine, with a fault or without."""

    type: str
    check: Check
    mutant: Mutant | None = None
    unchanged: float | None = None  # how far the engine is off without any fault

    def run(self) -> dict[str, Any]:
        """What the check saw."""
        with tempfile.TemporaryDirectory(prefix="mutant-", dir=self.check.exports.parent) as folder:
            own = apart(self.check, Path(folder))
            if self.mutant is None:
                return asdict(own.seen())
            with planted(self.mutant):
                return asdict(own.seen())

    def row(self, became: str, seen: dict[str, Any]) -> dict[str, Any]:
        """A line of the results."""
        mutant = self.mutant or Mutant("")
        about = {"type": self.type, "engine": self.check.engine, "mutation": mutant.mutation, "effect": mutant.effect}
        return about | {"output": mutant.output, "rounding": self.rounding, "became": became, **seen}

    @property
    def rounding(self) -> float | None:
        """How far the output that the fault moves is off without it: by the dtype's rounding, which the recipe knows,
        or by that of the engine; None where neither is known."""
        known = tolerances.known(self.check.recipe, CELLS[self.check.engine]["dtype"])
        own = known.get(self.mutant.output if self.mutant else "", (None,))[0]
        return max((far for far in (own, self.unchanged) if far is not None), default=None)


def became(trial: Trial, seen: dict[str, Any]) -> str:
    """What a planted fault came to. One whose graph the engine refuses says nothing about the check."""
    if DIED in seen or seen["verdict"] == "refused":
        return UNCOUNTED
    return SURVIVED if seen["verdict"] == "works" else NOTICED


def unplanted(trial: Trial, unchanged: dict[str, Any]) -> tuple[str, str] | None:
    """Why a fault is not planted: what it counts as, and the reason."""
    mutant = trial.mutant
    if mutant.lacking:
        return LACKING, mutant.lacking
    if mutant.mutation == "half precision" and trial.check.engine == "qnn":
        return LACKING, "fp16 is what the cell asks for"
    if mutant.effect < NOTHING:
        return REMOVED, f"moves the outputs by {mutant.effect:.1e}"
    if unchanged.get("verdict") != "works":
        return UNCOUNTED, f"unchanged: {unchanged.get('why') or unchanged.get(DIED)}"
    return None


class Results:
    """Lines of a file, and what they add up to."""

    def __init__(self, out: str) -> None:
        self._out, self.rows = out, []

    def add(self, row: dict[str, Any]) -> None:
        """Keeps a line."""
        self.rows.append(row)
        subjects.keep(self._out, [row])

    def share(self, engine: str = "", apart: bool = False) -> float:
        """The share that was noticed, of all engines or of one; nothing planted is nothing noticed. Apart from those
        that do no more than rounding, if that is asked for."""
        rows = [r for r in self.rows if engine in ("", r["engine"]) and not (apart and drowned(r))]
        counts = Counter(row["became"] for row in rows)
        counted = counts[NOTICED] + counts[SURVIVED]
        return counts[NOTICED] / counted if counted else 0.0

    def print(self, engines: Sequence[str]) -> None:
        """The table, and those that are not in it."""
        print(f"\n{'engine':12} {'mutation':18} noticed / planted   removed   not applicable   not counted")
        for engine in engines:
            for mutation in MUTATIONS:
                counts = Counter(r["became"] for r in self.rows if (r["engine"], r["mutation"]) == (engine, mutation))
                total = counts[NOTICED] + counts[SURVIVED]
                rest = f"{counts[REMOVED]:7} {counts[LACKING]:16} {counts[UNCOUNTED]:13}"
                print(f"{engine:12} {mutation:18} {counts[NOTICED]:7} / {total:<7} {rest}")
        for what in (SURVIVED, REMOVED, UNCOUNTED, LACKING):
            self._list(what)
        print()
        for engine in ("", *engines):
            told = f"{100 * self.share(engine):.1f} % noticed, {100 * self.share(engine, apart=True):.1f} % of those"
            print(f"{engine or 'all'}: {told} that do more than rounding")

    def _list(self, what: str) -> None:
        found = sorted((r for r in self.rows if r["became"] == what), key=lambda r: -(r["effect"] or 0))
        print(f"\n{what}: {len(found)}" if found else "", end="\n" if found else "")
        for row in found:
            why = row.get("why") or row.get(DIED) or ""
            print(f"  {row['engine']} {row['type']}: {row['mutation']}{_sizes(row)}{': ' + why[:150] if why else ''}")


def drowned(row: dict[str, Any]) -> bool:
    """Whether a fault moves an output no further than rounding does: nobody could tell the two apart."""
    return row["effect"] is not None and row["rounding"] is not None and row["effect"] <= row["rounding"]


def _sizes(row: dict[str, Any]) -> str:
    """What a fault does, beside what rounding does and what is allowed."""
    known = [(name, row.get(name)) for name in ("effect", "rounding", "tolerance")]
    told = ", ".join(f"{name} {number:.1e}" for name, number in known if number is not None)
    return f" ({told})" if told and row["effect"] is not None else ""


def tried(recipes: Iterable[dict[str, Any]], options: argparse.Namespace, exports: Path) -> Results:
    """All trials, one after the other: the models exported, then run unchanged, then with each fault."""
    results = Results(options.out)
    bred: dict[str, list[Mutant]] = {}

    def run(work: Any, items: Iterable[Any]) -> Any:
        return children.each(items, work, options.processes, options.limit, options.loud)

    def breeding(recipe: dict[str, Any]) -> dict[str, Any]:
        folder = exports.parent / "mutants" / recipe["type"]
        return {"mutants": [asdict(m) for m in breed(Check(recipe, "onnxruntime", exports), folder)]}

    recipes = list(recipes)
    for recipe, answer in run(breeding, recipes):
        bred[recipe["type"]] = [Mutant(**row) for row in answer.get("mutants", [])]
        said = answer.get(DIED) or f"{sum(not m.lacking for m in bred[recipe['type']])} mutants"
        print(f"{recipe['type']}: {said}", flush=True)
    # By a graph in ONNX only: it is what a mutant is of.
    pairs = [
        Trial(recipe["type"], Check(recipe, engine, exports, via="onnx"))
        for engine in options.engines
        for recipe in recipes
        if bred[recipe["type"]]
    ]
    trials = []
    for trial, unchanged in run(Trial.run, pairs):
        for mutant in bred[trial.type]:
            one = Trial(trial.type, trial.check, mutant, unchanged.get("max_rel"))
            if why := unplanted(one, unchanged):
                results.add(one.row(why[0], {"why": why[1]}))
            else:
                trials.append(one)
    for trial, seen in run(Trial.run, trials):
        results.add(trial.row(became(trial, seen), seen))
    return results


def main(arguments: Sequence[str] | None = None) -> int:
    """The program."""
    parser = subjects.parser("mutants", __doc__, count=30, seed=13, limit=600)
    parser.add_argument("--engines", type=lambda s: s.split(","), default=list(ENGINES[:3]), help=", ".join(ENGINES))
    parser.add_argument("--least", type=float, default=0.95, help="share that must be noticed (0.95)")
    parser.add_argument("--exports", default="", help="folder for exported models; a temporary one otherwise")
    parser.add_argument("--out", default="", help="file for a JSON line per mutant")
    options = parser.parse_args(arguments)
    paged(parser, options)
    children.prepare()
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        root = Path(options.exports or folder)
        results = tried(subjects.chosen(options.types, options.count, options.draw), options, root / "exports")
    results.print(options.engines)
    return 0 if results.share() >= options.least else 1


if __name__ == "__main__":
    sys.exit(main())

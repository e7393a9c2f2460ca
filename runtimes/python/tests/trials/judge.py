"""Judges verdicts: no model that Assay says works, wholly or partly, may be wrong on an input that its graph takes."""

from __future__ import annotations

import math
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from assay_runner.checking import reference
from assay_runner.engines.graphs import driver
from assay_runner.engines.graphs.artefact import INPUTS, Artefact
from assay_runner.subjects import experts, inputs

from . import children, subjects, ties
from .checks import Check, Emit, paged
from .children import DIED
from .drawing import Drawing, Given

ENGINES = ("onnxruntime", "openvino", "webnn")
NARROWED = ("constant inputs", "fixed choices", "fixed axes")
"""Steps of an export after which a graph no longer takes everything that its model takes."""

_SHARE = 0.3  # of the tolerance: outputs that roundings move by more are not judged

Tensors = dict[str, torch.Tensor]


def apart(found: Tensors, right: Tensors, given: Given) -> float:
    """How far outputs are from the right ones where one looks, as a share of the largest value; the worst of them.
    Whole numbers count only where there is nothing else: one flipped choice is not a wrong model."""
    floats = [name for name, t in right.items() if t.is_floating_point() and t.numel()]
    return max((_one(found.get(name), right[name], given) for name in floats or right), default=0.0)


def _one(found: torch.Tensor | None, right: torch.Tensor, given: Given) -> float:
    if found is None or found.shape != right.shape:
        return math.inf
    found, right = given.visible(found).double(), given.visible(right).double()
    numbers = torch.isfinite(right) & (right.abs() < torch.finfo(torch.float32).max / 2)
    if not bool(numbers.any()):
        return 0.0
    found, right = found[numbers], right[numbers]
    difference, scale = float((found - right).abs().max()), float(right.abs().max())
    if math.isnan(difference):
        return math.inf
    return difference / scale if scale else (math.inf if difference else 0.0)


@dataclass(frozen=True)
class Case:
    """A type to judge."""

    recipe: dict[str, Any]
    engines: tuple[str, ...]
    seeds: tuple[int, ...]
    tolerance: float
    exports: Path

    def run(self) -> dict[str, Any]:
        """What was found on each engine."""
        began = time.monotonic()
        with tempfile.TemporaryDirectory(dir=self.exports) as folder:
            rows = [self._on(Check(self.recipe, engine, Path(folder))) for engine in self.engines]
        return {"type": self.recipe["type"], "engines": rows, "s": round(time.monotonic() - began, 1)}

    def _on(self, check: Check) -> dict[str, Any]:
        seen = check.seen()
        row = {"engine": check.engine, "verdict": seen.verdict, "why": seen.why}
        return row if seen.verdict in ("fails", "refused") else row | self._judged(check)

    def _judged(self, check: Check) -> dict[str, Any]:
        session = driver.Session(check.job, Emit())
        counts: Counter[str] = Counter()
        wrong, most = [], 0.0
        with _torch(session) as (model, run), _chosen(session) as (artefact, compiled):
            drawing = _drawing(artefact, check.recipe)
            names = [spec["name"] for spec in artefact["graph"]["inputs"]]
            for seed, given in drawing.each(self.seeds):
                became, far = self._one(given, model, run, lambda g: compiled(g, names))
                counts[became] += 1
                most = max(most, far if became == "right" else 0.0)
                if became == "wrong":
                    wrong.append({"input": given.name, "seed": seed, "apart": far})
            held = [step["name"] for step in artefact["graph"]["steps"] if step["name"] in NARROWED]
        return {"counts": dict(counts), "wrong": wrong, "most": most, "held": held}

    def _one(self, given: Given, model: Any, run: Callable, engine: Callable) -> tuple[str, float]:
        """What became of one input, and how far the engine is off."""
        try:
            right = run(given.tensors)
        except Exception:  # noqa: BLE001 - whatever it is, the model does not take such an input
            return "refused by the model", 0.0
        if any(bool(given.visible(t).isnan().any()) for t in right.values()):
            return "not a number", 0.0
        try:
            found = engine(given.tensors)
        except Exception:  # noqa: BLE001 - engines raise types of their own
            return "refused by the engine", 0.0
        far = apart(found, right, given)
        if far <= self.tolerance:
            return "right", far
        moves = ties.movement(model, run, given.tensors, lambda a, b: apart(a, b, given))
        return ("tie" if moves > _SHARE * self.tolerance else "wrong"), far


@contextmanager
def _torch(session: driver.Session) -> Iterator[Any]:
    model = session.torch.built().model
    with experts.looped(model), reference.forgetting(model):
        yield model, lambda given: session.torch.forward(model, given)


@contextmanager
def _chosen(session: driver.Session) -> Iterator[tuple[Artefact, Callable[[Tensors, list[str]], Tensors]]]:
    """The artefact of the attempt that counts, and what runs it."""
    point = session.points[0]

    def start(artefact: Artefact, compiled: Any) -> float:
        compiled.bind(session.feeds(artefact, point))
        return session.clock(compiled).once()

    with session.chooser().chosen(point, start) as running:

        def run(given: Tensors, names: list[str]) -> Tensors:
            running.compiled.bind({name: np.asarray(given[name].numpy(), order="C") for name in names})
            running.compiled.run()
            return {name: torch.from_numpy(np.array(a)) for name, a in running.compiled.outputs().items()}

        yield running.artefact, run


def _drawing(artefact: Artefact, recipe: dict[str, Any]) -> Drawing:
    with np.load(artefact.entry.path(INPUTS), allow_pickle=False) as arrays:
        first = {name: torch.from_numpy(arrays[name]) for name in arrays.files}
    graph = artefact["graph"]
    fixed = {name for step in graph["steps"] for name in step.get("inputs", ())}
    free = {spec["name"] for spec in graph["inputs"]} - fixed
    return Drawing(recipe, first, inputs.sizes(recipe, {"batch": 1}), frozenset(free))


def told(row: dict[str, Any]) -> str:
    """A line about a type on an engine."""
    line = f"{row['verdict']}" + (f" ({row['why'][:120]})" if row["why"] else "")
    if "counts" in row:
        line += ": " + ", ".join(f"{n} {what}" for what, n in sorted(row["counts"].items()))
        line += f", {row['most']:.1e} at most" + "".join(f"; {name}" for name in row["held"])
    wrong = sorted(row.get("wrong", []), key=lambda w: -w["apart"])
    return line + "".join(f"; WRONG on {w['input']}, seed {w['seed']}, by {w['apart']:.2g}" for w in wrong[:3])


def main(arguments: Sequence[str] | None = None) -> int:
    """The program."""
    parser = subjects.parser("judge", __doc__, count=0, seed=1, limit=900)
    parser.add_argument("--seeds", type=int, default=2, help="how many seeds of inputs (2)")
    parser.add_argument("--first-seed", type=int, default=7000, help="the first of them (7000)")
    parser.add_argument("--engines", type=lambda s: s.split(","), default=list(ENGINES[:2]), help=", ".join(ENGINES))
    parser.add_argument("--tolerance", type=float, default=1e-3, help="share of the largest value (0.001)")
    parser.add_argument("--out", default="", help="file for a JSON line per type")
    options = parser.parse_args(arguments)
    paged(parser, options)
    children.prepare()
    seeds = tuple(range(options.first_seed, options.first_seed + options.seeds))
    wrong, verdicts, inputs_seen, broken = [], Counter(), Counter(), 0
    with tempfile.TemporaryDirectory(prefix="judge-") as folder:
        cases = [
            Case(recipe, tuple(options.engines), seeds, options.tolerance, Path(folder))
            for recipe in subjects.chosen(options.types, options.count, options.draw)
        ]
        for case, answer in children.each(cases, Case.run, options.processes, options.limit, options.loud):
            kind = case.recipe["type"]
            subjects.keep(options.out, [{"type": kind} | answer])
            if DIED in answer:
                broken += 1
                print(f"{kind}: not judged: {answer[DIED]}", flush=True)
            for row in answer.get("engines", []):
                verdicts[row["engine"], "partial" if row.get("held") else row["verdict"]] += 1
                inputs_seen.update(row.get("counts", {}))
                print(f"{kind} {row['engine']}: {told(row)}", flush=True)
                wrong += [f"{kind} on {row['engine']}"] if row.get("wrong") else []
    print("\n" + ", ".join(f"{engine} {verdict}: {n}" for (engine, verdict), n in sorted(verdicts.items())))
    print("inputs: " + ", ".join(f"{n} {what}" for what, n in sorted(inputs_seen.items())))
    print(f"{len(wrong)} verdicts are wrong{': ' + ', '.join(wrong) if wrong else ''}; {broken} types were not judged")
    return 1 if wrong or not inputs_seen["right"] else 0


if __name__ == "__main__":
    sys.exit(main())

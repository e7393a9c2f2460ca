"""Compares kept outputs with each other: of targets pair by pair, and of batches with the single input in them.

The measure is symmetric: the largest error over the largest magnitude of either side, of the worst output that both
have. A row of a batch is compared with the output of a batch of one, whose input is that row.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations
from typing import Any

from assay_runner.checking import numerics
from assay_runner.subjects import outputs
from assay_runner.subjects.outputs import Tensors


def answer(job: Mapping[str, Any], emit: Any) -> None:
    """Answers a ``compare`` job: `options.files` is a list of files, `options.batches` a list of pairs of files, one of
    a batch of one and one of a larger batch."""
    options = job.get("options") or {}
    held = {file: outputs.kept(file) for file in (options.get("files") or [])}
    pairs = [{"a": a, "b": b, **difference(held[a], held[b])} for a, b in combinations(held, 2)]
    batches = [
        {"a": one, "b": many, **difference(outputs.kept(one), first_row(outputs.kept(many), outputs.kept(one)))}
        for one, many in (options.get("batches") or [])
    ]
    emit.data({"pairs": pairs, "batches": batches})


def difference(a: Tensors, b: Tensors) -> dict[str, Any]:
    """The worst output's difference; null where the two have nothing in common, or numbers are missing."""
    common = {name: t for name, t in b.items() if name in a and a[name].shape == t.shape}
    if not common:
        return {"max_rel": None, "output": "", "note": "no output has the same shape on both sides"}
    one = numerics.compare({name: a[name] for name in common}, common)
    two = numerics.compare(common, {name: a[name] for name in common})
    worst = min(one, two, key=lambda c: c.max_rel)
    if worst.unchecked:
        return {"max_rel": None, "output": "", "note": worst.unchecked}
    return {"max_rel": worst.max_rel, "output": worst.output, "note": ""}


def first_row(batch: Tensors, single: Tensors) -> Tensors:
    """The first row of every output that has one row for each input."""
    return {
        name: t[:1]
        for name, t in batch.items()
        if name in single and t.dim() > 0 and single[name].shape[:1] == (1,) and t.shape[1:] == single[name].shape[1:]
    }

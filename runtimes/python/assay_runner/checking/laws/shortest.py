"""The shortest inputs that still show a broken law, found by halving the sizes that a recipe names."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from assay_runner.checking.laws.case import Case
from assay_runner.checking.laws.law import BROKEN, Law, Pair

Looked = Callable[[Law, Case], tuple[dict[str, Any], Pair | None]]
_LENGTHS = ("seq", "target", "samples", "frames")  # of what is read in order; an image cut smaller is another image
_LEAST = 2


def found(law: Law, case: Case, row: dict[str, Any], pair: Pair, looked: Looked) -> tuple[dict, Pair, Case]:
    """The row, the pair and the case with the shortest inputs that show it: the first ones where no shorter do."""
    best = row, pair, case
    for size in _LENGTHS:
        if size in case.recipe.get("sizes", {}):
            best = _halved(law, best, size, looked)
    return best


def _halved(law: Law, best: tuple[dict, Pair, Case], size: str, looked: Looked) -> tuple[dict, Pair, Case]:
    low, high = _LEAST - 1, best[2].sizes[size]
    while high - low > 1:
        middle = (low + high) // 2
        tried = replace(best[2], point={**best[2].point, size: middle}, _seen={})
        row, pair = looked(law, tried)
        if row["status"] == BROKEN and pair is not None:
            best, high = (row, pair, tried), middle
        else:
            low = middle
    return best

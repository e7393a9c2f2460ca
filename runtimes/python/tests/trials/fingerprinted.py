"""What a check's fingerprint says of a type, as the program does (internal/cell/fingerprint.go).

The kept ones are the program's own (internal/catalog/data/fingerprints.json): another release that computes something
else, here the library with a fault planted in it, is compared with them.
"""

from __future__ import annotations

import functools
import json
import math
from collections.abc import Mapping
from contextlib import contextmanager
from typing import Any

from assay_runner.engines.torch import engine

from . import subjects

KEPT = subjects.CATALOGUE.with_name("fingerprints.json")
TOLERANCE = 1e-5  # cell.FingerprintTolerance

Samples = Mapping[str, Mapping[str, list[float]]]


class _Emit:
    """Keeps what the engine reports."""

    index: int | None = None

    def __init__(self) -> None:
        self.reports: dict[int, dict[str, Any]] = {}

    def phase(self, name: str, ms: float) -> None:
        """Nothing is timed."""

    def timed(self, state: Any) -> None:
        """Nothing is timed."""

    @contextmanager
    def in_phase(self, name: str) -> Any:
        """Nothing is timed."""
        yield

    def point(self, index: int, report: dict[str, Any]) -> None:
        """Keeps a report."""
        self.reports[index] = report


def taken(recipe: Mapping[str, Any]) -> dict[str, Any] | None:
    """The fingerprint that a check of a type has in its report."""
    cell = {"platform": "cpu", "engine": "torch", "dtype": "fp32", "size": "tiny"}
    timing = {"min_s": 0, "min_n": 1, "max_s": 1, "warmup_max_s": 0, "warmup_window": 1, "warmup_tolerance": 1}
    emit = _Emit()
    job = {"kind": "check", "cell": cell, "recipe": recipe, "points": [{"batch": 1}], "timing": timing, "threads": 1}
    engine.run(job, emit)
    return emit.reports[0].get("fingerprint")


@functools.cache
def _kept() -> dict[str, Any]:
    return json.loads(KEPT.read_text(encoding="utf-8"))["types"]


def changed(recipe: Mapping[str, Any]) -> float | None:
    """How far a type's answers are from the kept ones; none where the two cannot be compared."""
    kept, now = _kept().get(recipe["type"]), taken(recipe)
    if kept is None or now is None or kept["reference"] != now["reference"]:
        return None
    return difference(kept["samples"], now["samples"])


def difference(kept: Samples, now: Samples) -> float | None:
    """How far two fingerprints are apart at most where they have samples in common; infinite where outputs differ."""
    shared = [name for name in kept if name in now]
    if not shared:
        return None
    return max(_outputs(kept[name], now[name]) for name in shared)


def _outputs(one: Mapping[str, list[float]], other: Mapping[str, list[float]]) -> float:
    if one.keys() != other.keys():
        return math.inf
    return max((_apart(one[name], other[name]) for name in one), default=0.0)


def _apart(a: list[float], b: list[float]) -> float:
    if not a or len(a) != len(b):
        return math.inf
    longer = max(a[0], b[0])
    return (
        max((abs(x * a[0] - y * b[0]) / longer for x, y in zip(a[1:], b[1:], strict=True)), default=0.0)
        if longer
        else 0.0
    )

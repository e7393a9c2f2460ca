"""A check as the program asks for it, and what its report comes to."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from assay_runner.engines.graphs import driver
from assay_runner.engines.torch import engine

from . import children

PAGES = "ASSAY_TEST_PAGES_WEBNN"
"""The variable with addresses of pages, one for each child that runs at once: only the program opens pages, in an
integration test of cmd/assay."""

CELLS: Mapping[str, Mapping[str, str]] = {
    "torch": {"platform": "cpu", "engine": "torch", "dtype": "fp32"},
    "onnxruntime": {"platform": "cpu", "engine": "onnxruntime", "dtype": "fp32"},
    "openvino": {"platform": "openvino", "device": "CPU", "engine": "openvino", "dtype": "fp32"},
    "qnn": {"platform": "qnn", "device": "sm8650", "engine": "qnn", "dtype": "fp16"},
    "webnn": {"platform": "webnn", "device": "cpu", "engine": "ort-web", "dtype": "fp32"},
}
"""The trial's name of an engine → its cell."""


def page() -> str:
    """The address of this child's own page: two that share one would run each other's graphs."""
    return os.environ[PAGES].split()[children.slot]


def paged(parser: argparse.ArgumentParser, options: argparse.Namespace) -> None:
    """Stops where an engine needs pages and there are not enough."""
    if "webnn" in options.engines and len(os.environ.get(PAGES, "").split()) < options.processes:
        wanted = f"webnn needs {options.processes} pages, whose addresses are in {PAGES}"
        parser.error(f"{wanted}: TestIntegrationTrials of cmd/assay opens them")


class Emit:
    """Keeps the reports of a job."""

    def __init__(self) -> None:
        self.index: int | None = None
        self.reports: dict[int, dict[str, Any]] = {}

    @contextmanager
    def in_phase(self, name: str) -> Iterator[None]:
        """Times nothing."""
        yield

    def phase(self, name: str, ms: float) -> None:
        """Keeps nothing."""

    def point(self, index: int, report: dict[str, Any]) -> None:
        """Keeps the report of a point."""
        self.reports[index] = report


@dataclass(frozen=True)
class Check:
    """A model on an engine."""

    recipe: Mapping[str, Any]
    engine: str
    exports: Path
    seed: int = 0
    threads: int = 1
    batch: int = 1
    via: str = ""

    @property
    def job(self) -> dict[str, Any]:
        """As the protocol has it."""
        cell = {**CELLS[self.engine], "size": "tiny", "seed": self.seed} | ({"via": self.via} if self.via else {})
        options = {"exports": str(self.exports)} | ({"page": page()} if self.engine == "webnn" else {})
        return {
            "kind": "check",
            "recipe": self.recipe,
            "cell": cell,
            "points": [{"batch": self.batch}],
            "threads": self.threads,
            "options": options,
        }

    def report(self) -> dict[str, Any]:
        """What the runner reports; whatever it raises is raised."""
        emit = Emit()
        (engine if self.engine == "torch" else driver).run(self.job, emit)
        return emit.reports[0]

    def seen(self) -> Seen:
        """What became of the check."""
        return self.caught(lambda: read(self.report()))

    def caught(self, work: Callable[[], Seen]) -> Seen:
        """What work about the check came to; what an engine raises is a refusal."""
        try:
            return work()
        except Exception as error:  # noqa: BLE001 - engines raise types of their own
            return Seen("refused", f"{type(error).__name__}: {error}"[:300])


@dataclass(frozen=True)
class Seen:
    """Whether a check found numbers wrong (`fails`), those of a narrower dtype (`partial`), right (`works`), could not
    judge them (`unjudged`) or had none, since the engine refused the model (`refused`); and why."""

    verdict: str
    why: str = ""
    max_rel: float | None = None
    tolerance: float | None = None


def read(report: Mapping[str, Any]) -> Seen:
    """What the program decides by a report, as far as numbers go (`verdict` of internal/lab)."""
    numbers = report.get("numerics")
    if report.get("finite") is False:
        return Seen("fails", "not finite")
    if report.get("constant"):
        return Seen("fails", "the same everywhere")
    if numbers is None:
        return Seen("unjudged", report.get("numerics_note") or "not compared")
    far = numbers.get("max_rel"), numbers.get("tolerance")
    if not numbers["pass"]:
        return Seen("fails", f"wrong numbers on {numbers.get('sample') or 'the first sample'}", *far)
    if numbers.get("precision"):
        return Seen("partial", f"computes in {numbers['precision']}", *far)
    return Seen("works", "", *far)

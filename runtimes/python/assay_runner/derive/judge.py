"""A census against a device: which operators it lacks, and which it lacks in the requested dtype."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

from . import unlisted


class Table(Protocol):
    """A list of operators: torch's own kernels (`dispatch`), or what an engine takes (`listed`)."""

    def has(self, operator: str, key: str) -> bool | None:
        """Whether there is a kernel for a dispatch key; None for an operator that the list cannot know."""

    def lacking(self, title: str) -> str:
        """In words, what an operator that has none has against it."""


class Row(NamedTuple):
    """An operator with the dtypes of its tensors, and how often a forward calls it so."""

    operator: str
    dtypes: tuple[str, ...]
    count: int


@dataclass
class Finding:
    """An operator that a device will not run as it is called."""

    operator: str
    why: str
    count: int = 0


@dataclass
class Verdict:
    """What the tables say of a model on a device; the lists are in order of appearance."""

    missing: list[Finding] = field(default_factory=list)  # no kernel
    refused: list[Finding] = field(default_factory=list)  # a kernel, but not for these dtypes
    elsewhere: list[Finding] = field(default_factory=list)  # torch itself sends it to the CPU

    def report(self) -> dict[str, Any]:
        """The verdict in the words of the protocol; the first of these that holds."""
        if self.missing:
            return report("fails", "unsupported-operator", self.missing)
        if self.refused:
            return report("fails", "unsupported-dtype", self.refused)
        return report("partial" if self.elsewhere else "works", "", self.elsewhere)


def report(verdict: str | None, kind: str = "", found: Sequence[Finding] = (), why: str = "") -> dict[str, Any]:
    """A verdict, its class where it fails, and the operators that decided it, the most frequent first."""
    frequent = sorted(found, key=lambda f: (-f.count, f.operator))
    return {"verdict": verdict, "class": kind, "operators": [vars(f) for f in frequent], "why": why}


def judge(census: Iterable[Row], target: unlisted.Target, table: Table, refused: Iterable[Finding] = ()) -> Verdict:
    """Looks every row up; calls that were seen to be refused for their sizes are missing too."""
    verdict = Verdict(missing=list(refused))
    for row in census:
        operator = target.instead.get(row.operator, row.operator)
        if why := _missing(operator, target, table):
            _add(verdict.missing, operator, why, row.count)
        elif why := _refused(operator, row.dtypes, target):
            _add(verdict.refused, operator, why, row.count)
        elif why := target.elsewhere.get(operator):
            _add(verdict.elsewhere, operator, why, row.count)
    return verdict


def _missing(operator: str, target: unlisted.Target, table: Table) -> str:
    if operator in target.elsewhere:
        return ""
    known = table.has(operator, target.key)
    if known is None:
        return f"it is not one of torch's own operators, whose kernels for {target.title} are known"
    return "" if known else table.lacking(target.title)


def _refused(operator: str, dtypes: Sequence[str], target: unlisted.Target) -> str:
    for dtype in dtypes:
        if dtype in target.lacks:
            return f"{dtype}: {target.lacks[dtype]}"
    floating = sorted({dtype for dtype in dtypes if "float" in dtype})
    if operator in unlisted.SAME_DTYPE and len(floating) > 1:
        return f"its tensors are of different dtypes: {', '.join(floating)}"
    return ""


def _add(found: list[Finding], operator: str, why: str, count: int) -> None:
    for known in found:
        if (known.operator, known.why) == (operator, why):
            known.count += count
            return
    found.append(Finding(operator, why, count))

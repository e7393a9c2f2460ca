"""Calls that a device's kernel refuses for their sizes, though it has the operator: rows with reasons.

A census knows an operator's dtypes and not its other arguments, so these are looked
for while the forward is traced.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import NamedTuple

from assay_runner.facts.trace import Call

from .judge import Finding


class Limit(NamedTuple):
    """An operator on a platform, the calls of it that fail there, and why."""

    platform: str
    operator: str
    refuses: Callable[[Call], bool]
    why: str


def _uneven(call: Call) -> bool:
    """Whether input and output of a pooling do not divide, the larger by the smaller."""
    given, wanted = call.inputs[0].shape[-2:], call.outputs[0].shape[-2:]
    shrinks = given[0] >= wanted[0]
    return any((g % w if shrinks else w % g) if min(g, w) else False for g, w in zip(given, wanted, strict=True))


LIMITS = (
    Limit(
        "mps", "aten._adaptive_avg_pool2d.default", _uneven,
        "its kernel for MPS accepts only sizes where one divides the other",
    ),
)  # fmt: skip


class Limits:
    """The book of a trace that counts such calls."""

    def __init__(self) -> None:
        self._calls: Counter[Limit] = Counter()

    def see(self, call: Call) -> None:
        """Looks at one call."""
        for limit in LIMITS:
            if call.name == limit.operator and limit.refuses(call):
                self._calls[limit] += 1

    def found(self, platform: str) -> list[Finding]:
        """The operators that will fail on a platform."""
        return [Finding(x.operator, x.why, n) for x, n in self._calls.items() if x.platform == platform]

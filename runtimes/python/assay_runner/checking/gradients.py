"""Gradients and updates of a training step against a reference's, parameter by parameter.

A gradient is off by the length of its difference over the reference's length. One that is tiny beside the others
(a bias that softmax cancels has none but rounding) is not judged, and counted. An update is judged by its length
alone: how far the optimiser moved a parameter, beside how far the reference's did. That tells a parameter that was
left out, frozen or moved twice; the direction of an update that divides small gradients by themselves is rounding.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import torch

TOLERANCES = {"fp32": 1e-3, "fp16": 0.25, "bf16": 0.25}
"""Of a gradient, by its length. In half precision rectifiers fall to the other side of zero (seen: 0.06 in a tiny T5)
and deep models add up roundings (0.17 in a tiny ResNet): what is left is to tell a gradient from none, half or twice
it."""
NEGLIGIBLE = 1e-3  # of the root of the mean square over all gradients
_MOVED = (0.5, 2.0)  # how long an update may be, beside the reference's
_FEW = 16  # numbers that moved: of fewer, rounding decides which they are

Named = Mapping[str, torch.Tensor]


@dataclass
class Compared:
    """What was seen. `max_rel` is of the worst gradient; `missed` are parameters that the reference moved otherwise."""

    judged: list[str]
    negligible: int
    max_rel: float
    worst: str
    tolerance: float
    missed: list[str] = field(default_factory=list)

    @property
    def passed(self) -> bool:
        """Whether all that was judged is right."""
        return bool(self.judged) and self.max_rel <= self.tolerance and not self.missed

    def report(self) -> dict[str, Any]:
        """As the protocol has it."""
        return {
            "judged": len(self.judged), "negligible": self.negligible,
            "max_rel": self.max_rel if self.max_rel < float("inf") else None, "worst": self.worst,
            "tolerance": self.tolerance, "missed": self.missed[:8], "pass": self.passed,
        }  # fmt: skip


def compare(found: Named, expected: Named, moved: Named, moved_expected: Named, precision: str) -> Compared:
    """Gradients (found, expected), and the updates that followed. What is not found is zero. `precision` is what the
    gradients were computed in."""
    total = sum(t.double().square().sum().item() for t in expected.values())
    usual = (total / max(1, sum(t.numel() for t in expected.values()))) ** 0.5
    judged = [n for n, t in expected.items() if _root(t) > NEGLIGIBLE * usual]
    apart = {name: _apart(found.get(name), expected[name]) for name in judged}
    worst = max(apart, key=lambda name: apart[name], default="")
    missed = [n for n in judged if n in moved_expected and not _moves(moved.get(n), moved_expected[n])]
    return Compared(judged, len(expected) - len(judged), apart.get(worst, 0.0), worst, TOLERANCES[precision], missed)


def weakest(expected: Named, judged: list[str]) -> str:
    """The parameter among those judged whose gradient is the smallest: the hardest to miss."""
    return min(judged, key=lambda name: _root(expected[name]), default="")


def _root(t: torch.Tensor) -> float:
    return t.double().square().mean().sqrt().item()


def _apart(found: torch.Tensor | None, expected: torch.Tensor) -> float:
    """How far a gradient is off; one that is not there is off by all of itself, and one with a NaN by infinity."""
    if found is None:
        return 1.0
    off = ((found.double() - expected.double()).norm() / expected.double().norm()).item()
    return off if off == off else float("inf")


def _moves(found: torch.Tensor | None, expected: torch.Tensor) -> bool:
    """Whether a parameter moved as far as the reference's. Weights of half precision round short updates away."""
    wanted, numbers = _root(expected), int(expected.count_nonzero())
    if numbers < min(_FEW, expected.numel()):
        return True
    length = 0.0 if found is None else _root(found)
    return _MOVED[0] * wanted <= length <= _MOVED[1] * wanted

"""Outputs too close to zero to judge.

Rounding makes numbers out of nothing. A sum of a thousand terms, each rounded by half a
unit in the last place, is off by some sixteen units: half the root of their number. An
output that is no larger than that beside the model's other numbers says nothing, and
neither does what a device makes of it, as long as that is close to zero too.

The largest output tells how large the other numbers are, but at most one, which is
the order of inputs and normed activations: an output of millions says nothing about the
numbers that led to another one. A model whose only output is small is not one
of these: its error shrinks with it (drawn weights of deep convolutions give 1e-34 exactly
enough). Only where its dtype no longer has such numbers is it.
"""

from __future__ import annotations

from collections.abc import Mapping

import torch

_EPS = torch.finfo(torch.float32).eps
UNITS = 16
NOTHING = UNITS * _EPS  # of the scale. References are computed in float32 or better, whatever the cell's dtype is
QUANTISED = 0.1  # the share of noise that quantised models may have, by power 20 dB
_FORMATS = {"fp32": torch.float32, "fp16": torch.float16, "bf16": torch.bfloat16}


def negligible(
    actual: Mapping[str, float], reference: Mapping[str, float], dtype: str, tolerance: float | None
) -> dict[str, float]:
    """The outputs that are close to zero, with the reference's largest magnitude; given the largest magnitudes of
    both sides. One that is exactly zero in the reference is a statement, and can be wrong."""
    scale = min(1.0, max(reference.values(), default=0.0))
    floor = _floor(dtype, tolerance)
    nothing, stray = max(NOTHING * scale, floor), max(_stray(dtype, tolerance) * scale, floor)
    return {
        name: largest
        for name, largest in reference.items()
        if 0 < largest <= nothing and actual.get(name, float("inf")) <= stray
    }


def _stray(dtype: str, tolerance: float | None) -> float:
    """How large, beside the scale, what is close to zero may come out: as rounding in the dtype makes it, and never
    beyond what would be wrong of an output of that scale."""
    if dtype not in _FORMATS or tolerance is None:
        return QUANTISED
    return min(UNITS * torch.finfo(_FORMATS[dtype]).eps, tolerance)


def _floor(dtype: str, tolerance: float | None) -> float:
    """The magnitude below which the dtype's numbers lie too far apart to be right to within the tolerance."""
    held = torch.finfo(_FORMATS.get(dtype, torch.float32))
    return held.smallest_normal * held.eps / (tolerance or QUANTISED)

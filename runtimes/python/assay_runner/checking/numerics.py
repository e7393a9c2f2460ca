"""Compares outputs with a reference's.

The measure of a floating output is its largest error over the reference's
largest magnitude; that of the cell is its worst output's. Outputs of whole
numbers or booleans are compared exactly and the share of equal elements is
reported, but it decides only where a model gives nothing else: one flipped
index among candidates is not a wrong model. Outputs too close to zero to
judge (``negligible``) are named, and decide nothing.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import torch

from assay_runner.checking.negligible import negligible
from assay_runner.subjects.outputs import Tensors

TOLERANCE = {"fp32": 1e-3, "fp16": 1e-2, "bf16": 3e-2}
# Quantised models are judged by their noise: one rounded weight may move one element far.
LEAST_SNR_DB = {"int8": 20.0, "a16w8": 20.0, "w8": 20.0, "w4": 20.0}
CONTROL_SNR_DB = 10.0  # a damaged model must have at least ten times the noise power that is allowed
CONTROL_FACTOR = 10  # a damaged model must differ by this many tolerances


@dataclass(frozen=True)
class Wider:
    """A tolerance that differs from the table, with its reason, for cells of just this size, weights and engine."""

    type: str
    size: str
    weights: str
    dtype: str
    tolerance: float
    reason: str
    engine: str = "torch"


_CANCELS = (
    "the similarities are dot products of unit vectors, which nearly cancel with random weights: the vectors' rounding "
    "is large compared with them"
)

_DEEP = "thirty-two layers with random weights let fp16 rounding grow to 1.2e-2 on the CPU's own scale"

WIDER: tuple[Wider, ...] = (
    Wider("clip", "full", "random", "fp16", 3e-2, _CANCELS),
    Wider("llava", "full", "random", "fp16", 2e-2, _DEEP),
    Wider("llava_next", "full", "random", "fp16", 2e-2, _DEEP),
)


def tolerance(model_type: str, size: str, weights: str, dtype: str, engine: str = "torch") -> float:
    """The tolerance of a cell."""
    for row in WIDER:
        if (row.type, row.size, row.weights, row.dtype, row.engine) == (model_type, size, weights, dtype, engine):
            return row.tolerance
    return TOLERANCE[dtype]


def signal_to_noise_db(actual: Tensors, reference: Tensors, dtype: str = "fp32") -> float | None:
    """The worst output's ratio of the reference's power to the error's, in decibel. None where numbers are missing or
    nothing can be compared; an output without any error has the ratio CAP_DB."""
    ratios, nothing = [], next_to_nothing(actual, reference, dtype)
    for name, expected in reference.items():
        if not expected.is_floating_point() or expected.numel() == 0 or name in nothing:
            continue
        got = actual.get(name)
        if got is None or got.shape != expected.shape:
            return None
        ratios.append(_ratio_db(got, expected))
    return min(ratios, default=None) if None not in ratios else None


CAP_DB = 200.0


def _ratio_db(got: torch.Tensor, expected: torch.Tensor) -> float | None:
    counts = ~(_masks(expected) | expected.isnan())
    wanted = expected[counts].double()
    noise = float((got[counts].double() - wanted).square().sum())
    signal = float(wanted.square().sum())
    if not math.isfinite(noise):
        return None
    if noise == 0 or signal == 0:
        return CAP_DB if noise == 0 else -CAP_DB
    return max(-CAP_DB, min(CAP_DB, 10 * math.log10(signal / noise)))


@dataclass
class Comparison:
    """The worst of all outputs. Infinite where shapes differ or numbers are missing; of nothing, it does not pass."""

    max_abs: float = 0.0
    max_rel: float = 0.0
    output: str = ""
    exact: dict[str, float] = field(default_factory=dict)  # share of equal elements of the other outputs
    negligible: dict[str, float] = field(default_factory=dict)  # largest magnitude of those close to zero

    @property
    def unchecked(self) -> str:
        """Why nothing could be decided: all floating outputs are close to zero. "" where something was."""
        if self.output or not self.negligible:
            return ""
        largest = max(self.negligible.values())
        return f"all outputs are too close to zero to judge: {largest:.1e} at most"

    def take(self, name: str, error: float, scale: float) -> None:
        """Keeps an output if it is the worst so far."""
        rel = error / scale if scale > 0 else (0.0 if error == 0 else math.inf)
        if not self.output or rel > self.max_rel:
            self.max_abs, self.max_rel, self.output = error, rel, name

    def report(self, tolerance: float, reference: str) -> dict[str, Any]:
        """As the protocol has it; what is not finite is null."""
        return {
            "max_abs": _finite(self.max_abs),
            "max_rel": _finite(self.max_rel),
            "tolerance": tolerance,
            "reference": reference,
            "pass": bool(self.output or self.negligible) and self.max_rel <= tolerance,
            "output": self.output,
            "exact_share": self.exact or None,
            "negligible": self.negligible or None,
            "control": None,
        }


def _finite(x: float) -> float | None:
    return x if math.isfinite(x) else None


def next_to_nothing(actual: Tensors, reference: Tensors, dtype: str) -> dict[str, float]:
    """The outputs that say nothing in the dtype that the actual ones were computed in."""
    floats = {name: t for name, t in reference.items() if (t.is_floating_point() or t.is_complex()) and t.numel()}
    alike = {name: actual[name] for name, t in floats.items() if name in actual and actual[name].shape == t.shape}
    return negligible(
        {name: t.abs().max().item() for name, t in alike.items()},
        {name: t.abs().masked_fill(_masks(t), 0.0).max().item() for name, t in floats.items()},
        dtype,
        TOLERANCE.get(dtype),
    )


def compare(actual: Tensors, reference: Tensors, dtype: str = "fp32") -> Comparison:
    """Compares by name; both on the CPU. A missing output is an infinite error, one without elements counts nothing.
    dtype: what the actual ones were computed in, for those that are close to zero."""
    result = Comparison(negligible=next_to_nothing(actual, reference, dtype))
    for name, expected in reference.items():
        got = actual.get(name)
        if got is None or got.shape != expected.shape:
            result.take(name, math.inf, 1.0)
        elif got.numel() == 0 or name in result.negligible:
            continue
        elif expected.is_floating_point() or expected.is_complex():
            result.take(name, *_error(got, expected))
        else:
            result.exact[name] = float((got == expected).double().mean())
    if not result.output and not result.negligible:
        for name, share in result.exact.items():
            result.take(name, 1 - share, 1.0)
    return result


def _error(got: torch.Tensor, expected: torch.Tensor) -> tuple[float, float]:
    """Largest error and largest magnitude, masks left out of both: they say that there is no number."""
    wide = torch.complex128 if expected.is_complex() else torch.float64
    masks = _masks(expected)
    masked = masks & _masks(got) & (got.real.sign() == expected.real.sign())
    got, expected = got.to(wide), expected.to(wide)
    error = (got - expected).abs().masked_fill_(masked | (got == expected), 0.0)
    scale = expected.abs().masked_fill(masks | expected.isnan(), 0.0).max().item()
    worst = error.max().item()
    return (worst if math.isfinite(worst) else math.inf), scale


def _masks(t: torch.Tensor) -> torch.Tensor:
    """Where a tensor holds an infinity, or a number so near to its dtype's last one that models write it for one."""
    if not (t.is_floating_point() or t.is_complex()):
        return torch.zeros_like(t, dtype=torch.bool)
    return t.abs() >= torch.finfo(t.dtype).max / 2


def finite(actual: Tensors, reference: Tensors | None) -> bool:
    """No NaN anywhere, and no infinity but where the reference has it too."""
    for name, t in actual.items():
        if not (t.is_floating_point() or t.is_complex()) or bool(torch.isfinite(t).all()):
            continue
        expected = (reference or {}).get(name)
        if expected is None or expected.shape != t.shape or bool(torch.isnan(t).any()):
            return False
        bad = ~torch.isfinite(t)
        if not bool((t[bad].double() == expected[bad].double()).all()):
            return False
    return True

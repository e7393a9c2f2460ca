"""Compares outputs with a reference's.

The measure of a floating output is its largest error over the reference's
largest magnitude, and beside it that of the worst row over its length, so that one large
row hides nothing in the others; that of the cell is the output which is furthest
beyond its tolerance (``tolerances``), or nearest to it. Outputs of whole
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
from assay_runner.checking.tolerances import TABLE, Tolerance
from assay_runner.subjects.outputs import Tensors

# Quantised models are judged by their noise: one rounded weight may move one element far.
LEAST_SNR_DB = {"int8": 20.0, "a16w8": 20.0, "w8": 20.0, "w4": 20.0}
CONTROL_SNR_DB = 10.0  # a damaged model must have at least ten times the noise power that is allowed
_ROW = 8  # numbers, at least, of what is looked at row by row
_SMALL_ROW = 0.03  # of the longest row
CONTROL_FACTOR = 10  # a damaged model must differ by this many tolerances


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


@dataclass(frozen=True)
class Error:
    """How far one output is off: by value, of the largest one, and of its own length the row that is worst; with the
    least cosine of a row."""

    abs: float
    rel: float
    row: float = 0.0
    cosine: float = 1.0

    def times(self, tolerance: Tolerance, output: str) -> float:
        """How many tolerances it is off by, in whichever way is worse."""
        row = tolerance.of_row(output)
        return max(_over(self.rel, tolerance.of(output)), 0.0 if row is None else _over(self.row, row))


def _over(error: float, limit: float) -> float:
    return error / limit if limit > 0 else (0.0 if error == 0 else math.inf)


@dataclass
class Comparison:
    """All outputs that can be wrong. Infinite where shapes differ or numbers are missing; of nothing, it does not
    pass."""

    errors: dict[str, Error] = field(default_factory=dict)
    exact: dict[str, float] = field(default_factory=dict)  # share of equal elements of the other outputs
    negligible: dict[str, float] = field(default_factory=dict)  # largest magnitude of those close to zero

    @property
    def output(self) -> str:
        """The output that is furthest off, of its largest value."""
        return max(self.errors, key=lambda name: self.errors[name].rel, default="")

    @property
    def max_rel(self) -> float:
        """How far that one is off."""
        return self.errors[self.output].rel if self.errors else 0.0

    @property
    def unchecked(self) -> str:
        """Why nothing could be decided: all floating outputs are close to zero. "" where something was."""
        if self.errors or not self.negligible:
            return ""
        largest = max(self.negligible.values())
        return f"all outputs are too close to zero to judge: {largest:.1e} at most"

    def take(self, name: str, error: float, scale: float, row: float = 0.0, cosine: float = 1.0) -> None:
        """Keeps the error of an output."""
        self.errors[name] = Error(error, _over(error, scale), row, cosine)

    def times(self, tolerance: Tolerance) -> float:
        """How many tolerances the worst output is off by."""
        return max((error.times(tolerance, name) for name, error in self.errors.items()), default=0.0)

    def report(self, tolerance: Tolerance | float, reference: str) -> dict[str, Any]:
        """As the protocol has it, of the output that is furthest beyond its tolerance or nearest to it; what is not
        finite is null."""
        allowed = tolerance if isinstance(tolerance, Tolerance) else Tolerance(tolerance)
        worst = max(self.errors, key=lambda name: self.errors[name].times(allowed, name), default="")
        error, times = self.errors.get(worst, Error(0.0, 0.0)), self.times(allowed)
        row = allowed.of_row(worst)
        return {
            "max_abs": _finite(error.abs),
            "max_rel": _finite(error.rel),
            "tolerance": allowed.of(worst),
            "rows": None if row is None else {"max_rel": _finite(error.row), "tolerance": row, "cosine": error.cosine},
            "margin": None if times == 0 else _finite(1 / times),
            "reference": reference,
            "pass": bool(self.errors or self.negligible) and times <= 1,
            "output": worst,
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
        TABLE.get(dtype),
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
    if not result.errors and not result.negligible:
        for name, share in result.exact.items():
            result.take(name, 1 - share, 1.0)
    return result


def _error(got: torch.Tensor, expected: torch.Tensor) -> tuple[float, float, float, float]:
    """Largest error, largest magnitude, and of the worst rows error and cosine; masks left out of all: they say that
    there is no number."""
    wide = torch.complex128 if expected.is_complex() else torch.float64
    masks = _masks(expected)
    masked = masks & _masks(got) & (got.real.sign() == expected.real.sign())
    got, expected = got.to(wide), expected.to(wide)
    error = (got - expected).abs().masked_fill_(masked | (got == expected), 0.0)
    shown = expected.masked_fill(masks | expected.isnan(), 0.0)
    worst = error.max().item()
    rows = _rows(error, got.masked_fill(masks | expected.isnan(), 0.0), shown)
    return (worst if math.isfinite(worst) else math.inf), shown.abs().max().item(), *rows


def _rows(error: torch.Tensor, got: torch.Tensor, shown: torch.Tensor) -> tuple[float, float]:
    """The largest error of a row, of its length, and the least cosine: what one large row hides in the others. Rows
    that are small beside the others are rounding."""
    if shown.dim() < 2 or shown.shape[-1] < _ROW or shown.is_complex():
        return 0.0, 1.0
    lengths = shown.norm(dim=-1)
    counts = lengths >= max(_SMALL_ROW * lengths.max().item(), torch.finfo(torch.float64).tiny)
    if not bool(counts.any()):
        return 0.0, 1.0
    worst = (error.norm(dim=-1)[counts] / lengths[counts]).max().item()
    cosine = torch.nn.functional.cosine_similarity(got[counts], shown[counts], dim=-1).min().item()
    return (worst, cosine) if math.isfinite(worst) else (math.inf, 0.0)


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

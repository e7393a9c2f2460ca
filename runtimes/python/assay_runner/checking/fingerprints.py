"""A digest of what a model gives, by which another release of its library can be compared without having it.

Weights and inputs have the same bits everywhere, so a right release gives the same outputs but for rounding. A hash
would tell only that a bit differs. So each output is multiplied with a few vectors that are drawn by its name, in
float64: two such rows of numbers differ by about as much as the outputs do, of their length, whatever differs.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np
import torch

from assay_runner.subjects import stream
from assay_runner.subjects.outputs import Tensors

_PRODUCTS = 4
_APART = 6  # outputs that have a row of their own; the others of a model that gives many share one
_DIGITS = 9
_OTHERS = "others"

Row = list[float]
"""The root of the mean square of an output, then its products with the drawn vectors, over their length and its."""


def of(points: Iterable[tuple[str, Tensors]]) -> dict[str, dict[str, Row]]:
    """The digest of samples by name, each with what the model gives of it."""
    return {name: _rows(tensors) for name, tensors in points}


def _rows(tensors: Tensors) -> dict[str, Row]:
    arrays = {name: _numbers(t) for name, t in tensors.items() if t.numel()}
    names = list(arrays)
    apart = {name: arrays[name] for name in names[:_APART]}
    if names[_APART:]:
        apart[_OTHERS] = np.concatenate([arrays[name] for name in names[_APART:]])
    return {name: _row(name, array) for name, array in apart.items()}


def _numbers(t: torch.Tensor) -> np.ndarray:
    """The numbers of a tensor; what is infinite or not a number counts as zero."""
    if t.is_complex():
        t = torch.view_as_real(t)
    return np.nan_to_num(t.detach().double().flatten().numpy(), nan=0.0, posinf=0.0, neginf=0.0)


def _row(name: str, array: np.ndarray) -> Row:
    size = float(np.sqrt(np.mean(array * array)))
    if not size:
        return [0.0] * (1 + _PRODUCTS)
    vectors = np.empty((_PRODUCTS, array.size), np.float32)
    draw = stream.Draw(0.0, 1.0)
    stream.draw([stream.Fill(row, f"fingerprint/{name}/{k}", draw) for k, row in enumerate(vectors)])
    products = vectors.astype(np.float64) @ array / (size * math.sqrt(array.size))
    return [float(f"{number:.{_DIGITS}g}") for number in (size, *products)]

"""Torch's operators as the recorder of random initialisation sees them, in tables.

Which ones draw and with what moments, which scale, copy or move what was drawn,
and which only look at a shape. What is in no table reads its arguments and
computes something new.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch

from assay_runner.subjects.stream import Draw

aten = torch.ops.aten


def _uniform(low: float = 0.0, high: float = 1.0, **_: Any) -> Draw:
    return Draw((low + high) / 2, (high - low) / math.sqrt(12.0))


def _normal(mean: float = 0.0, std: float = 1.0, *_: Any, **__: Any) -> Draw:
    return Draw(mean, std)


def _exponential(rate: float = 1.0, **_: Any) -> Draw:
    return Draw(1 / rate, 1 / rate)


def truncated(mean: float, std: float, low: float, high: float) -> Draw:
    """The moments of a normal distribution cut off at low and high."""
    if std <= 0:
        return Draw(mean, 0.0)
    a, b = (low - mean) / std, (high - mean) / std
    density = [math.exp(-x * x / 2) / math.sqrt(2 * math.pi) for x in (a, b)]
    mass = (math.erf(b / math.sqrt(2)) - math.erf(a / math.sqrt(2))) / 2
    if mass < 1e-6:
        return Draw(min(max(mean, low), high), 0.0)
    shift = (density[0] - density[1]) / mass
    variance = 1 + (a * density[0] - b * density[1]) / mass - shift * shift
    return Draw(mean + std * shift, std * math.sqrt(max(variance, 0.0)))


IN_PLACE = {aten.normal_: _normal, aten.uniform_: _uniform, aten.exponential_: _exponential}
FACTORIES = {aten.randn: lambda: Draw(0.0, 1.0), aten.rand: _uniform}
LIKE = {aten.randn_like: lambda: Draw(0.0, 1.0), aten.rand_like: _uniform}
SCALED: dict[Any, Callable[[Draw, float], Draw]] = {
    aten.mul: lambda d, x: Draw(d.mean * x, d.std * abs(x)),
    aten.div: lambda d, x: Draw(d.mean / x, d.std / abs(x)),
    aten.add: lambda d, x: Draw(d.mean + x, d.std),
    aten.sub: lambda d, x: Draw(d.mean - x, d.std),
}
SCALED_IN_PLACE = {aten.mul_: aten.mul, aten.div_: aten.div, aten.add_: aten.add, aten.sub_: aten.sub}
# These need the shape of their argument only.
BLIND = {aten.empty_like, aten.zeros_like, aten.ones_like, aten.full_like, aten.new_empty, aten.new_zeros,
          aten.new_ones, aten.new_full, aten.new_empty_strided, aten.is_same_size}  # fmt: skip
# Whole writes that do not look at what was there.
OVERWRITES = {aten.zero_, aten.fill_, aten.copy_}
# These move data, or compute what IEEE arithmetic rounds in one way only: the bits are the same everywhere.
MOVES = {aten.clone, aten.copy_, aten.cat, aten.stack, aten.repeat, aten._to_copy, aten.index, aten.index_select,
          aten.flip, aten.roll, aten.tril, aten.triu, aten.constant_pad_nd, aten.neg, aten.abs, aten.index_put_,
          aten.mul, aten.mul_, aten.add, aten.add_, aten.sub, aten.sub_, aten.div, aten.div_, aten.clamp, aten.clamp_,
          aten.where, aten.masked_fill_, aten.fill_, aten.zero_}  # fmt: skip
# These give memory as it is.
BARE = {aten.empty, aten.empty_strided, aten.empty_like, aten.new_empty, aten.new_empty_strided}
ALLOCATIONS = {aten.empty, aten.zeros, aten.ones, aten.full, aten.randn, aten.rand, aten.empty_strided}

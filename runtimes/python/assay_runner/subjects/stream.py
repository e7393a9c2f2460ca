"""Uniform streams keyed by text: the same bits on every machine.

A stream is cut into blocks of 2**18 values. Each block has its own 64-bit key,
the head of a SHA-256 over stream version, key text and block number, so blocks
may be made in any order by any number of threads. Within a block a counter goes
through two rounds of a 32-bit integer hash with half of the key before each;
its upper 24 bits, signed, become a float32 without rounding. The one
multiplication and the one addition that follow are single IEEE operations, done
apart so that no compiler can fuse them.

Torch's and numpy's own distributions are not used: theirs differ between CPU
capabilities and releases.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np

VERSION = 1
BLOCK = 1 << 18
_HALF = float(1 << 23)  # the signed 24-bit integers reach from -_HALF to _HALF - 1
_INLINE = 1 << 20  # fewer values than this are not worth a thread


@dataclass(frozen=True)
class Draw:
    """A distribution by its two moments; what is drawn is uniform with these."""

    mean: float
    std: float

    def scaled(self, gain: float) -> Draw:
        """The same with the deviation times gain."""
        return Draw(self.mean, self.std * gain)


@dataclass(frozen=True)
class Fill:
    """An order to draw: where to, under which key, with which moments."""

    out: np.ndarray  # flat and contiguous: float32, float64, float16, or uint16 for bfloat16
    key: str
    draw: Draw


class Blocks:
    """Makes blocks, with scratch memory of its own: one for each thread."""

    def __init__(self) -> None:
        self._counter = np.arange(BLOCK, dtype=np.uint32) * np.uint32(0x9E3779B9)
        self._x = np.empty(BLOCK, np.uint32)
        self._t = np.empty(BLOCK, np.uint32)
        self._f = np.empty(BLOCK, np.float32)

    def bits(self, key: str, block: int, n: int) -> np.ndarray:
        """The first n hashed words of a block; valid until the next call."""
        digest = hashlib.sha256(f"assay/{VERSION}/{key}/{block}".encode()).digest()
        x, t = self._x[:n], self._t[:n]
        np.add(self._counter[:n], np.uint32(int.from_bytes(digest[:4], "little")), out=x)
        _mix(x, t)
        np.bitwise_xor(x, np.uint32(int.from_bytes(digest[4:8], "little")), out=x)
        _mix(x, t)
        return x

    def write(self, fill: Fill, block: int) -> None:
        """Writes one block of a fill."""
        out = fill.out[block * BLOCK : (block + 1) * BLOCK]
        signed = self.bits(fill.key, block, out.size).view(np.int32)
        np.right_shift(signed, 8, out=signed)
        f = out if out.dtype == np.float32 else self._f[: out.size]
        np.copyto(f, signed, casting="unsafe")
        np.multiply(f, np.float32(fill.draw.std * math.sqrt(3.0) / _HALF), out=f)
        if fill.draw.mean:
            np.add(f, np.float32(fill.draw.mean), out=f)
        if out.dtype == np.uint16:
            self._bfloat16(f.view(np.uint32), out)
        elif f is not out:
            np.copyto(out, f, casting="unsafe")

    def _bfloat16(self, word: np.ndarray, out: np.ndarray) -> None:
        """Rounds float32 bits to the upper half, to nearest, ties to even. No value here is a NaN."""
        t = self._t[: word.size]
        np.right_shift(word, 16, out=t)
        np.bitwise_and(t, np.uint32(1), out=t)
        np.add(t, np.uint32(0x7FFF), out=t)
        np.add(word, t, out=t)
        np.right_shift(t, 16, out=t)
        np.copyto(out, t, casting="unsafe")


def _mix(x: np.ndarray, t: np.ndarray) -> None:
    for shift, factor in ((16, 0x7FEB352D), (15, 0x846CA68B)):
        np.right_shift(x, shift, out=t)
        np.bitwise_xor(x, t, out=x)
        np.multiply(x, np.uint32(factor), out=x)
    np.right_shift(x, 16, out=t)
    np.bitwise_xor(x, t, out=x)


def draw(fills: Iterable[Fill], threads: int = 1) -> None:
    """Carries the fills out. The result does not depend on the number of threads."""
    fills = list(fills)
    if threads <= 1 or sum(f.out.size for f in fills) < _INLINE:
        _work(_tasks(fills))
        return
    tasks = list(_tasks(fills))
    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(_work, [tasks[i::threads] for i in range(threads)]))


def _tasks(fills: Iterable[Fill]) -> Iterator[tuple[Fill, int]]:
    for fill in fills:
        for block in range(-(-fill.out.size // BLOCK)):
            yield fill, block


def _work(tasks: Iterable[tuple[Fill, int]]) -> None:
    blocks = Blocks()
    for fill, block in tasks:
        blocks.write(fill, block)


def floats(key: str, n: int, draw_: Draw) -> np.ndarray:
    """n float32 values of a stream."""
    out = np.empty(n, np.float32)
    _work(_tasks([Fill(out, key, draw_)]))
    return out


def integers(key: str, n: int, low: int, high: int) -> np.ndarray:
    """n whole numbers from low up to, not including, high."""
    out, blocks = np.empty(n, np.int64), Blocks()
    span = np.uint64(high - low)
    for start in range(0, n, BLOCK):
        stop = min(n, start + BLOCK)
        words = blocks.bits(key, start // BLOCK, stop - start).astype(np.uint64)
        out[start:stop] = (words * span >> np.uint64(32)).astype(np.int64) + low
    return out

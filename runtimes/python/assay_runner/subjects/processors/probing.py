"""Feeds a processor several times and sees which axes of what it returns stay, and which follow the material.

Nothing here knows what an axis means: one that has the same length for another picture size
and another number of pictures is the processor's own (channels, mel bins, a patch's width, a
side it scales to), one that grows with the number is the batch's, and the others are free.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from assay_runner.subjects.fitting import read

from . import material, settings, words
from .finding import Found

KINDS = {"f": "float", "i": "int", "u": "int", "b": "bool"}
# Two shapes of pictures that no processor would make the same by chance, and that are still small.
SHAPES = ((96, 128), (144, 80))
SECONDS = (1.0, 1.5)
_TAIL = re.compile(r"\. | but it was not found")
RATE = 16000


class CannotMake(Exception):
    """A processor that needs files, or more than its material, to work; the message says what it said."""


@dataclass(frozen=True)
class Seen:
    """One output of a processor: its kind of number, and for every axis its length, or why it has none."""

    kind: str
    axes: tuple[int | str, ...]  # a number that never changes, "batch" where it grows with the number, else "free"
    counts: tuple[int, ...] = ()  # columns of the last axis that hold whole numbers beside others that do not


Call = tuple[Sequence[Any], Mapping[str, Any]]
Feed = Callable[[Any, int, int, int], Iterator[Call]]
"""Processor, how many, of which shape, frames of a video → the ways of calling it, likeliest first."""


def _pictures(processor: Any, count: int, shape: int, frames: int) -> Iterator[Call]:
    """Pictures one to a text, then plainly in a row, then in pairs: what a processor takes is its own affair."""
    one, two = ([material.picture(*SHAPES[shape], number + odd) for number in range(count)] for odd in (0, 1))
    yield ([[picture] for picture in one],), {}
    yield (one,), {}
    yield ([list(pair) for pair in zip(one, two, strict=True)],), {}
    yield (one,), {"boxes": [[[0.0, 0.0, 32.0, 48.0]]] * count}
    yield ([list(material.video(frames, *SHAPES[shape], number)) for number in range(count)],), {}


def _videos(processor: Any, count: int, shape: int, frames: int) -> Iterator[Call]:
    videos = [material.video(frames, *SHAPES[shape], number) for number in range(count)]
    yield (videos,), {"do_sample_frames": False}
    yield (videos,), {}


def _sounds(processor: Any, count: int, shape: int, frames: int) -> Iterator[Call]:
    """Sounds padded to the longest; to padding of full size only where an extractor knows nothing else."""
    rate = int(getattr(processor, "sampling_rate", 0) or RATE)
    waves = [material.sound(SECONDS[shape], rate, number) for number in range(count)]
    yield (waves,), {"sampling_rate": rate, "padding": "longest", "return_attention_mask": True}
    yield (waves,), {"sampling_rate": rate, "padding": "longest"}
    yield (waves,), {"sampling_rate": rate}
    yield (waves,), {}


def _texts(processor: Any, count: int, shape: int, frames: int) -> Iterator[Call]:
    yield ([words.text(number, shape) for number in range(count)],), {"padding": True}


FEEDS: Mapping[str, Feed] = {"image": _pictures, "video": _videos, "audio": _sounds, "text": _texts}
RUNS = ((1, 0), (1, 1), (2, 0))  # how many, of which shape


def probe(found: Found, recipe: Mapping[str, Any], config: Any) -> dict[str, Seen]:
    """What the processor returns, by name; CannotMake with the reason where it cannot be made or fed."""
    frames = read.number(config, read.SIZES["F"])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            runs = _runs(_made(found, recipe, config, small=True), FEEDS[found.kind], frames)
        except CannotMake:  # a class may refuse small sizes
            runs = _runs(_made(found, recipe, config, small=False), FEEDS[found.kind], frames)
    names = [name for name in runs[0] if all(name in run for run in runs)]
    return {name: _seen([run[name] for run in runs]) for name in names}


def _made(found: Found, recipe: Mapping[str, Any], config: Any, small: bool) -> Any:
    try:
        if found.kind == "text":
            return words.tokenizer(found.cls, config)
        return found.cls(**settings.given(found.cls, recipe, config) if small else {})
    except Exception as error:  # noqa: BLE001 - a class that needs files raises anything
        raise CannotMake(f"{found.cls.__name__} cannot be made: {said(error)}") from error


def _runs(processor: Any, feed: Feed, frames: int) -> list[dict[str, np.ndarray]]:
    """The answers to all material, in the first way that the processor takes it."""
    refusals = []
    for calls in zip(*(feed(processor, count, shape, frames) for count, shape in RUNS), strict=True):
        try:
            return [_arrays(processor, processor(*some, return_tensors="pt", **more)) for some, more in calls]
        except Exception as error:  # noqa: BLE001 - what a processor does not take it refuses in its own way
            refusals.append(said(error))
    raise CannotMake(f"{type(processor).__name__} does not take plain material: {refusals[0]}")


def _arrays(processor: Any, made: Any) -> dict[str, np.ndarray]:
    """What was returned, by name; a bare tensor is the first of the names that the processor lists."""
    named = made if isinstance(made, Mapping) else {processor.model_input_names[0]: made}
    arrays = ((name, _array(value)) for name, value in named.items())
    return {name: array for name, array in arrays if array is not None}


def _array(value: Any) -> np.ndarray | None:
    """What was returned as one array; a list's first item stands for all, since lists are what cannot be stacked."""
    if isinstance(value, (list, tuple)) and value and not isinstance(value[0], (int, float, str)):
        first = _array(value[0])
        return None if first is None else np.broadcast_to(first, (len(value), *first.shape))
    array = np.asarray(value.float() if getattr(value, "is_floating_point", bool)() else value)
    return array if array.dtype.kind in KINDS else None


def _seen(arrays: Sequence[np.ndarray]) -> Seen:
    one, other, two = arrays
    if len({array.ndim for array in arrays}) > 1:
        return Seen(KINDS[one.dtype.kind], ("free",) * one.ndim)
    return Seen(KINDS[one.dtype.kind], tuple(map(_axis, one.shape, other.shape, two.shape)), _counts(two))


def _counts(array: np.ndarray) -> tuple[int, ...]:
    """The columns of floats that are counts: whole numbers, some above one, where other columns have fractions."""
    if array.dtype.kind != "f" or array.ndim < 2 or not array.size:
        return ()
    rows = array.reshape(-1, array.shape[-1])
    whole = (rows == np.round(rows)).all(axis=0)
    return () if whole.all() else tuple(np.flatnonzero(whole & (rows.max(axis=0) > 1)).tolist())


def _axis(one: int, other: int, two: int) -> int | str:
    if two == 2 * one and one:
        return "batch"
    return one if one == other == two else "free"


def said(error: BaseException) -> str:
    """An error's first sentence, with its class; what a library adds of how to install others is left out."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    sentence = _TAIL.split(lines[0])[0] if lines else ""
    return f"{type(error).__name__}: {sentence[:120]}" if sentence else type(error).__name__

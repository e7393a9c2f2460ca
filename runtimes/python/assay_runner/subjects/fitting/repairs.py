"""Reads the message of a failed try and says what to try instead. One row for each kind of message."""

from __future__ import annotations

import re
from collections.abc import Callable

from assay_runner.introspection.modalities import NOT_INPUTS, required

from .guess import Forward, Guess, names
from .layouts import DROPPABLE, PARAMETERS

Repair = Callable[[re.Match[str], Guess, Forward], Guess | None]
SOUND = ("input_features", "input_values", "audio_input_features", "spectrogram")


def _recount(found: re.Match[str], guess: Guess, forward: Forward) -> Guess | None:
    text = found.string[:80].lower()
    modality = next((kind for kind in ("audio", "video") if kind in text), "image")
    features = int(found[2])
    counted = {**guess.places, modality: features}
    return guess.but(places=counted) if counted != guess.places else None


def _channels(found: re.Match[str], guess: Guess, forward: Forward) -> Guess | None:
    letter = "C" if "pixel_values" in guess.wanted else "M" if set(SOUND) & set(guess.wanted) else "D"
    return _resize(letter, int(found[1]), guess)


def _product(found: re.Match[str], guess: Guess, forward: Forward) -> Guess | None:
    """Of two shapes that cannot be multiplied, the first ends in the size that was wrong."""
    given, needed = int(found[2]), int(found[3])
    letters = {**forward.sizes, **guess.sizes}
    patch = letters["C"] * letters["P"] ** 2
    if given == letters["M"] and set(SOUND) & set(guess.wanted):
        return _resize("M", needed, guess)
    if given == patch and needed % patch == 0:
        return _resize("T", needed // patch, guess)
    return _resize("D", needed, guess) if given == letters["D"] else None


def _norm(found: re.Match[str], guess: Guess, forward: Forward) -> Guess | None:
    return _resize("M", int(found[1]), guess) if set(SOUND) & set(guess.wanted) else None


def _sides(found: re.Match[str], guess: Guess, forward: Forward) -> Guess | None:
    higher = _resize("H", int(found[1]), guess)
    return higher and higher.but(sizes={**higher.sizes, "W": int(found[2])})


def _resize(letter: str, value: int, guess: Guess) -> Guess | None:
    return None if guess.sizes.get(letter) == value else guess.but(sizes={**guess.sizes, letter: value})


def _boolean(found: re.Match[str], guess: Guess, forward: Forward) -> Guess | None:
    masks = [name for name in names(guess, forward) if "mask" in name and len(PARAMETERS.get(name, ())) > 1]
    layout = {**guess.layout, **dict.fromkeys(masks, 1)}
    return guess.but(layout=layout) if layout != guess.layout else None


# (what a message says, what to change), in the order they are looked for.
MESSAGES: tuple[tuple[re.Pattern[str], Repair], ...] = (
    (re.compile(r"[Tt]okens?: ?(\d+).{0,30}features:? ?(\d+)"), _recount),
    (re.compile(r"expected input\[[\d, ]+\] to have (\d+) channels"), _channels),
    (re.compile(r"shapes cannot be multiplied \((\d+)x(\d+) and (\d+)x(\d+)\)"), _product),
    (re.compile(r"normalized_shape=\[(\d+)\], expected input with shape"), _norm),
    (re.compile(r"doesn't match model \(?(\d+)\*(\d+)"), _sides),
    (re.compile(r"[Bb]ool|index \d+ is out of bounds for dimension 0"), _boolean),
)


def repair(error: Exception, guess: Guess, forward: Forward) -> Guess | None:
    """The next try after this error; None when nothing is known to help."""
    message = f"{type(error).__name__}: {error}"
    for pattern, change in MESSAGES:
        if (found := pattern.search(message)) and (changed := change(found, guess, forward)):
            return changed
    if missing := _named(message, guess, forward):
        return guess.but(extra=(*guess.extra, *missing))
    needed = (*guess.dropped, *required(forward.parameters))
    optional = [name for name in DROPPABLE if name in forward.parameters and name not in needed]
    return guess.but(dropped=guess.dropped | set(optional)) if optional else None


def _named(message: str, guess: Guess, forward: Forward) -> list[str]:
    """Parameters that the message names and the try did not give."""
    given = {*names(guess, forward), *guess.dropped, *NOT_INPUTS, "input_ids"}
    candidates = [name for name in forward.parameters if name in PARAMETERS and name not in given]
    return [name for name in candidates if re.search(rf"(?<![\w.]){re.escape(name)}(?!\w)", message)]

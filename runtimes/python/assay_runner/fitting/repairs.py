"""Reads the message of a failed try and says what to try instead. One row for each kind of message."""

from __future__ import annotations

import re
from collections.abc import Callable

from ..introspect.modalities import NOT_INPUTS, required
from .attempt import Attempt, Subject, names
from .layouts import DROPPABLE, PARAMETERS

Repair = Callable[[re.Match[str], Attempt, Subject], Attempt | None]
SOUND = ("input_features", "input_values", "audio_input_features", "spectrogram")


def _recount(found: re.Match[str], attempt: Attempt, subject: Subject) -> Attempt | None:
    text = found.string[:80].lower()
    modality = next((kind for kind in ("audio", "video") if kind in text), "image")
    features = int(found[2])
    counted = {**attempt.places, modality: features}
    return attempt.but(places=counted) if counted != attempt.places else None


def _channels(found: re.Match[str], attempt: Attempt, subject: Subject) -> Attempt | None:
    letter = "C" if "pixel_values" in attempt.wanted else "M" if set(SOUND) & set(attempt.wanted) else "D"
    return _resize(letter, int(found[1]), attempt)


def _product(found: re.Match[str], attempt: Attempt, subject: Subject) -> Attempt | None:
    """Of two shapes that cannot be multiplied, the first ends in the size that was wrong."""
    given, needed = int(found[2]), int(found[3])
    letters = {**subject.sizes, **attempt.sizes}
    patch = letters["C"] * letters["P"] ** 2
    if given == letters["M"] and set(SOUND) & set(attempt.wanted):
        return _resize("M", needed, attempt)
    if given == patch and needed % patch == 0:
        return _resize("T", needed // patch, attempt)
    return _resize("D", needed, attempt) if given == letters["D"] else None


def _norm(found: re.Match[str], attempt: Attempt, subject: Subject) -> Attempt | None:
    return _resize("M", int(found[1]), attempt) if set(SOUND) & set(attempt.wanted) else None


def _sides(found: re.Match[str], attempt: Attempt, subject: Subject) -> Attempt | None:
    higher = _resize("H", int(found[1]), attempt)
    return higher and higher.but(sizes={**higher.sizes, "W": int(found[2])})


def _resize(letter: str, value: int, attempt: Attempt) -> Attempt | None:
    return None if attempt.sizes.get(letter) == value else attempt.but(sizes={**attempt.sizes, letter: value})


def _boolean(found: re.Match[str], attempt: Attempt, subject: Subject) -> Attempt | None:
    masks = [name for name in names(attempt, subject) if "mask" in name and len(PARAMETERS.get(name, ())) > 1]
    layout = {**attempt.layout, **dict.fromkeys(masks, 1)}
    return attempt.but(layout=layout) if layout != attempt.layout else None


# (what a message says, what to change), in the order they are looked for.
MESSAGES: tuple[tuple[re.Pattern[str], Repair], ...] = (
    (re.compile(r"[Tt]okens?: ?(\d+).{0,30}features:? ?(\d+)"), _recount),
    (re.compile(r"expected input\[[\d, ]+\] to have (\d+) channels"), _channels),
    (re.compile(r"shapes cannot be multiplied \((\d+)x(\d+) and (\d+)x(\d+)\)"), _product),
    (re.compile(r"normalized_shape=\[(\d+)\], expected input with shape"), _norm),
    (re.compile(r"doesn't match model \(?(\d+)\*(\d+)"), _sides),
    (re.compile(r"[Bb]ool"), _boolean),
)


def repair(error: Exception, attempt: Attempt, subject: Subject) -> Attempt | None:
    """The next try after this error; None when nothing is known to help."""
    message = f"{type(error).__name__}: {error}"
    for pattern, change in MESSAGES:
        if (found := pattern.search(message)) and (changed := change(found, attempt, subject)):
            return changed
    if missing := _named(message, attempt, subject):
        return attempt.but(extra=(*attempt.extra, *missing))
    needed = (*attempt.dropped, *required(subject.parameters))
    optional = [name for name in DROPPABLE if name in subject.parameters and name not in needed]
    return attempt.but(dropped=attempt.dropped | set(optional)) if optional else None


def _named(message: str, attempt: Attempt, subject: Subject) -> list[str]:
    """Parameters that the message names and the try did not give."""
    given = {*names(attempt, subject), *attempt.dropped, *NOT_INPUTS, "input_ids"}
    candidates = [name for name in subject.parameters if name in PARAMETERS and name not in given]
    return [name for name in candidates if re.search(rf"(?<![\w.]){re.escape(name)}(?!\w)", message)]

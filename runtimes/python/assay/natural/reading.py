"""What readers share: a request that was read, and who of the two readers reads it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from assay_runner.subjects.natural.requests import Read
from assay_runner.subjects.natural.spoken import Words

from ..errors import BadInput


class Reader(Protocol):
    """Makes a model's inputs of natural ones."""

    @property
    def modalities(self) -> tuple[str, ...]:
        """Of text, image, video and audio those that a request has; none where only named arrays go."""

    @property
    def words(self) -> Words | None:
        """The texts of ids; None where a model neither reads nor writes any."""

    @property
    def about(self) -> str:
        """How requests are read, in words."""

    @property
    def config(self) -> Mapping[str, Any]:
        """The model's configuration; nothing for a pipeline, whose parts have one each."""

    def read(self, x: Any, padded: bool = True) -> Read:
        """The inputs of one request."""


def chosen(x: Any, modalities: tuple[str, ...]) -> dict[str, Any]:
    """A request by what it is made of. A single thing is the only one that is wanted; a video is a row of pictures."""
    if not modalities:
        raise BadInput("this model has no natural input here: pass its inputs by name, model.run(**model.example())")
    given = dict(x) if isinstance(x, Mapping) else {modalities[0]: x}
    given = {_SAME.get(kind, kind) if kind not in modalities else kind: value for kind, value in given.items()}
    if set(given) != set(modalities) or any(value is None for value in given.values()):
        kinds = " and ".join(modalities)
        told = ", ".join(map(repr, x)) if isinstance(x, Mapping) else type(x).__name__
        raise BadInput(f"this model takes {kinds}{' in a dictionary' * (len(modalities) > 1)}, and was given {told}")
    if "text" in given and not _is_text(given["text"]):
        raise BadInput(f"text must be a string or a list of strings, not {type(given['text']).__name__}")
    return given


_SAME = {"video": "image", "image": "video"}


def _is_text(value: Any) -> bool:
    return isinstance(value, str) or (
        isinstance(value, (list, tuple)) and bool(value) and all(isinstance(one, str) for one in value)
    )

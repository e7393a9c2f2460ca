"""Texts and ids: the checkpoint's own tokenizer, or bytes where a model has random weights and no words."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol


class Words(Protocol):
    """Turns texts into ids and back."""

    @property
    def pad(self) -> int:
        """The id behind a text."""

    @property
    def mask(self) -> int | None:
        """The id that stands for a word to be guessed, where there is one."""

    @property
    def end(self) -> frozenset[int]:
        """Ids that end a text."""

    @property
    def about(self) -> str:
        """How texts are read, in words."""

    def encode(self, text: str) -> list[int]:
        """The ids of a text, without marks around it."""

    def decode(self, ids: Sequence[int]) -> str:
        """The text of ids, without marks."""

    def heard(self, frames: Sequence[int], blank: int) -> str:
        """The text of a sound of which each frame has an id (connectionist temporal classification)."""


@dataclass(frozen=True)
class Bytes:
    """A byte is an id, counted from the lowest that the recipe draws. Bytes beyond its range begin again."""

    low: int
    high: int
    end: frozenset[int] = frozenset()
    mask: int | None = None

    @property
    def pad(self) -> int:
        """The id of a space."""
        return self.encode(" ")[0]

    @property
    def about(self) -> str:
        """In words."""
        return f"text as bytes, ids {self.low} to {self.high - 1}: random weights know no words"

    def encode(self, text: str) -> list[int]:
        """The ids of a text's bytes."""
        return [self.low + byte % (self.high - self.low) for byte in text.encode()]

    def decode(self, ids: Sequence[int]) -> str:
        """The bytes of ids; what is not text becomes the replacement character."""
        return bytes(i - self.low if 0 <= i - self.low < 256 else 255 for i in ids).decode("utf-8", "replace")

    def heard(self, frames: Sequence[int], blank: int) -> str:
        """Repetitions once, without blanks."""
        once = (i for i, _ in itertools.groupby(frames))
        return self.decode([i for i in once if i != blank])


@dataclass(frozen=True)
class Letters(Bytes):
    """For models that write and read none: the first id after the blank is an A."""

    low: int = 1 - ord("A")
    high: int = 257 - ord("A")

    @property
    def about(self) -> str:
        """In words."""
        return "text as letters, id 1 an A: random weights know no words"


class Tokens:
    """A tokenizer of transformers."""

    def __init__(self, tokenizer: Any, end: frozenset[int]) -> None:
        self.tokenizer = tokenizer
        own = {tokenizer.eos_token_id} - {None}
        self.end = end | own
        self.pad = next((i for i in (tokenizer.pad_token_id, *own) if i is not None), 0)
        self.mask: int | None = getattr(tokenizer, "mask_token_id", None)
        self.about = f"text by the checkpoint's {type(tokenizer).__name__}"

    def encode(self, text: str) -> list[int]:
        """The ids of a text, without marks around it."""
        return self.tokenizer.encode(text, add_special_tokens=False)

    def decode(self, ids: Sequence[int]) -> str:
        """The text of ids, without marks."""
        return self.tokenizer.decode(list(ids), skip_special_tokens=True)

    def heard(self, frames: Sequence[int], blank: int) -> str:
        """As such tokenizers do it themselves: marks keep letters apart that are said twice."""
        return self.tokenizer.decode(list(frames))


def ends(config: Mapping[str, Any]) -> frozenset[int]:
    """The ids that end a text by a configuration."""
    found = config.get("eos_token_id")
    return frozenset(found if isinstance(found, list) else [found]) - {None}

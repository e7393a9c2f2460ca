"""A tiny tokenizer with the input names of a type's own: the class's files are a vocabulary, which is not needed."""

from __future__ import annotations

from typing import Any

from assay_runner.subjects.diffusion import tokenizers
from assay_runner.subjects.fitting import read

_LENGTHS = (5, 8)


def tokenizer(cls: type, config: Any, ordinary: frozenset[int] = frozenset()) -> Any:
    """A tokenizer of a word for each id of the small vocabulary, which returns what one of this class returns. Marks of
    its own never have an ordinary id: those that stand for a picture in a text are words too."""
    values = {**config.to_dict(), "vocab_size": max(read.vocabulary(config), 2 * sum(_LENGTHS))}
    settings = tokenizers.config_for(values)
    taken = ordinary | set(settings["ids"].values())
    free = (i for i in range(settings["vocabulary"]) if i not in taken)
    settings["ids"] = {name: next(free, i) if i in ordinary else i for name, i in settings["ids"].items()}
    made = tokenizers.make(settings)
    made.model_input_names = list(getattr(cls, "model_input_names", made.model_input_names))
    return made


def text(number: int, shape: int) -> str:
    """A short text of ordinary words, another one for another number."""
    return tokenizers.text([10 + number + word for word in range(_LENGTHS[shape])])

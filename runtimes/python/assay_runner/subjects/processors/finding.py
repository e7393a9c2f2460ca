"""Which processors a recipe's inputs come from, by the library's own mappings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import transformers

from assay_runner.introspection.processor_classes import MAPPINGS, mapped, neighbours
from assay_runner.subjects import models
from assay_runner.subjects.fitting.read import parts


@dataclass(frozen=True)
class Found:
    """A processor class and the type whose processor it is: the recipe's own, or one it is part of or holds."""

    kind: str
    cls: type
    owner: str


def classes(recipe: Mapping[str, Any], config: Any) -> dict[str, Found]:
    """The processor classes of a recipe, by kind: of each kind the nearest type's."""
    found: dict[str, Found] = {}
    for owner in owners(recipe, config):
        for kind in MAPPINGS:
            if kind not in found and (cls := mapped(kind, owner)) is not None:
                found[kind] = Found(kind, cls, owner)
    # Types without a tokenizer of their own are read with the plain one, as the library itself does.
    return {"text": Found("text", transformers.PreTrainedTokenizerFast, ""), **found}


def owners(recipe: Mapping[str, Any], config: Any) -> list[str]:
    """The types whose processors may be meant, nearest first: itself, the model it is a part of, the one
    whose processor it shares, its own parts."""
    near = [recipe["type"], *neighbours(models.model_class(recipe))]
    whole = next((cls for owner in near if (cls := mapped("whole", owner)) is not None), None)
    return list(dict.fromkeys([*near, *(neighbours(whole) if whole else ()), *_within(config)]))


def _within(config: Any) -> Iterator[str]:
    for _, part in parts(config):
        yield part.model_type
        yield from _within(part)
        yield from neighbours(type(part))

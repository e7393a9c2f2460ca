"""Which processors a recipe's inputs come from, by the library's own mappings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import transformers
from transformers.models.auto.configuration_auto import model_type_to_module_name

from ... import models
from ..read import parts

# Kind of processor → where the library maps types to classes of it. Older releases lack some of them.
MAPPINGS = {
    "image": ("image_processing_auto", "IMAGE_PROCESSOR_MAPPING_NAMES"),
    "video": ("video_processing_auto", "VIDEO_PROCESSOR_MAPPING_NAMES"),
    "audio": ("feature_extraction_auto", "FEATURE_EXTRACTOR_MAPPING_NAMES"),
    "text": ("tokenization_auto", "TOKENIZER_MAPPING_NAMES"),
    "whole": ("processing_auto", "PROCESSOR_MAPPING_NAMES"),
}
# An image processor has one class for each library that can resize; torchvision's is the default in use.
BACKENDS = ("torchvision", "pil")


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
            if kind not in found and (cls := _class(kind, owner)) is not None:
                found[kind] = Found(kind, cls, owner)
    # Types without a tokenizer of their own are read with the plain one, as the library itself does.
    return {"text": Found("text", transformers.PreTrainedTokenizerFast, ""), **found}


def owners(recipe: Mapping[str, Any], config: Any) -> list[str]:
    """The types whose processors may be meant, nearest first: itself, the model it is a part of, the one
    whose processor it shares, its own parts."""
    near = [recipe["type"], *_neighbours(models.model_class(recipe))]
    whole = next((cls for owner in near if (cls := _class("whole", owner)) is not None), None)
    return list(dict.fromkeys([*near, *(_neighbours(whole) if whole else ()), *_within(config)]))


def marks_text(model_type: str) -> bool:
    """Whether the type's processor of all modalities marks the placeholders of a text unless told not to."""
    kwargs = getattr(_class("whole", model_type), "valid_processor_kwargs", None)
    return bool(getattr(kwargs, "_defaults", {}).get("text_kwargs", {}).get("return_mm_token_type_ids"))


def _within(config: Any) -> Iterator[str]:
    for _, part in parts(config):
        yield part.model_type
        yield from _within(part)
        yield from _neighbours(type(part))


def _neighbours(cls: type) -> list[str]:
    """The types that have processors and come from the same package as a class."""
    package = cls.__module__.split(".")[-2]
    types = (owner for kind in MAPPINGS for owner in _mapping(kind))
    return [owner for owner in types if model_type_to_module_name(owner) == package]


def _mapping(kind: str) -> Mapping[str, Any]:
    module, name = MAPPINGS[kind]
    return getattr(getattr(transformers.models.auto, module, None), name, {})


def _class(kind: str, owner: str) -> type | None:
    named = _mapping(kind).get(owner)
    if isinstance(named, Mapping):  # by backend
        named = next((named[backend] for backend in BACKENDS if backend in named), None)
    if isinstance(named, tuple):  # older releases: the slow class and the fast one
        named = next((one for one in reversed(named) if one), None)
    return getattr(transformers, named, None) if named else None

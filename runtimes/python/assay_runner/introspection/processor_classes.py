"""Which processor classes the library maps to a type: for pictures, videos, sounds, texts, and for all of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import transformers
from transformers.models.auto.configuration_auto import model_type_to_module_name

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


def mapped(kind: str, model_type: str) -> type | None:
    """The processor class of a kind that the library maps to a type; None where there is none."""
    named = _mapping(kind).get(model_type)
    if isinstance(named, Mapping):  # by backend
        named = next((named[backend] for backend in BACKENDS if backend in named), None)
    if isinstance(named, tuple):  # older releases: the slow class and the fast one
        named = next((one for one in reversed(named) if one), None)
    return getattr(transformers, named, None) if named else None


def neighbours(cls: type) -> list[str]:
    """The types that have processors and come from the same package as a class."""
    package = cls.__module__.split(".")[-2]
    types = (model_type for kind in MAPPINGS for model_type in _mapping(kind))
    return [model_type for model_type in types if model_type_to_module_name(model_type) == package]


def marks_text(model_type: str) -> bool:
    """Whether the type's processor of all modalities marks the placeholders of a text unless told not to."""
    kwargs = getattr(mapped("whole", model_type), "valid_processor_kwargs", None)
    return bool(getattr(kwargs, "_defaults", {}).get("text_kwargs", {}).get("return_mm_token_type_ids"))


def _mapping(kind: str) -> Mapping[str, Any]:
    module, name = MAPPINGS[kind]
    return getattr(getattr(transformers.models.auto, module, None), name, {})

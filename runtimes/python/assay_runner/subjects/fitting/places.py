"""Placeholder ids: a multimodal model wants as many among its text as its other inputs give features."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from typing import Any

import torch

from assay_runner.introspection.processor_classes import marks_text
from assay_runner.subjects.shrinking.layers import whole

from .read import find

START = 4  # ordinary words before the first placeholder
TOKEN_NAMES = (
    "{}_token_id", "{}_token_index", "{}_placeholder_id", "{}_pad_token_id", "{}_patch_id",
    "{}_placeholder_token_id", "{}_soft_token_id", "{}_patch_token_id", "media_placeholder_token_id",
)  # fmt: skip
# (modality, the input that carries it, its number in mm_token_type_ids)
CARRIERS = (
    ("image", "pixel_values", 1),
    ("image", "image_pixel_values", 1),
    ("video", "pixel_values_videos", 2),
    ("audio", "input_features", 3),
    ("audio", "input_values", 3),
    ("audio", "audio_input_features", 3),
)
ALONG = ("attention_mask", "token_type_ids", "cross_attention_mask", "image_attention_mask")
MARKS = ("mm_token_type_ids", "moe_mm_token_type_ids")


def token_of(config: Any, modality: str) -> int | None:
    """The placeholder id of a modality; None when the configuration names none."""
    values = (find(config, [name.format(modality)]) for name in TOKEN_NAMES)
    return next((value for value in values if whole(value)), None)


def rows(output: Any) -> int:
    """How many rows of features an answer of get_*_features holds."""
    for name in ("pooler_output", "last_hidden_state"):
        if getattr(output, name, None) is not None:
            output = getattr(output, name)
            break
    found = [t for t in _tensors(output) if t.is_floating_point() and t.dim() >= 2]
    if isinstance(output, tuple) and len(found) > 1 and found[0].dim() != found[1].dim():
        found = found[:1]
    return sum(t.numel() // t.shape[-1] for t in found)


def _tensors(value: Any) -> list[torch.Tensor]:
    if torch.is_tensor(value):
        return [value]
    items = value.values() if isinstance(value, Mapping) else value if isinstance(value, (list, tuple)) else ()
    return [tensor for item in items for tensor in _tensors(item)]


def count(model: torch.nn.Module, modality: str, given: Mapping[str, torch.Tensor]) -> int | None:
    """Asks the model for its features and counts them; None when it has no such question."""
    for part in (model, getattr(model, "model", None), getattr(model, "base_model", None)):
        ask = getattr(part, f"get_{modality}_features", None)
        takes = inspect.signature(ask).parameters if ask is not None else {}
        if set(takes) & set(given):  # a method that only hands its arguments on does not name them
            with torch.no_grad():
                return rows(ask(**{name: value for name, value in given.items() if name in takes}))
    return None


def mark_names(model_type: str, parameters: Mapping[str, Any]) -> tuple[str, ...]:
    """The inputs that say which ids are placeholders. Where none has a name of its own and the type's processor marks
    them all the same, they are the text's token types."""
    own = tuple(name for name in MARKS if name in parameters)
    if own or "token_type_ids" not in parameters or not marks_text(model_type):
        return own
    return ("token_type_ids",)


def insert(
    specs: list[dict[str, Any]], names: Sequence[str], counts: list[tuple[int, int, int]]
) -> list[dict[str, Any]]:
    """Puts placeholders into the text: counts holds (token, how many, mark) in order; names are inputs of marks."""
    text = next((spec for spec in specs if spec["name"] == "input_ids" and len(spec["shape"]) == 2), None)
    if text is None:
        return specs
    total = sum(number for _, number, _ in counts)
    length = f"seq + {total}" if total else "seq"
    at, places, marks = START, [], []
    for token, number, mark in counts:
        places.append({"id": token, "at": at, "count": number})
        marks.append({"id": mark, "at": at, "count": number})
        at += number
    longer = [_longer(spec, length) if spec["name"] in ("input_ids", *ALONG) else spec for spec in specs]
    longer = [
        {**spec, "place": places, **_words(spec, [token for token, _, _ in counts])}
        if spec["name"] == "input_ids" and places
        else spec
        for spec in longer
    ]
    return longer + [_marks(name, length, marks) for name in names]


def _words(spec: dict[str, Any], tokens: list[int]) -> dict[str, int]:
    """The range of ordinary words without the placeholders: what is left on the wider side of each."""
    low, high = spec["low"], spec["high"]
    for token in tokens:
        if low <= token < high:
            low, high = (token + 1, high) if high - token > token - low else (low, token)
    return {"low": low, "high": high}


def _longer(spec: dict[str, Any], length: str) -> dict[str, Any]:
    return {**spec, "shape": [length if entry == "seq" else entry for entry in spec["shape"]]}


def _marks(name: str, length: str, marks: list[dict[str, int]]) -> dict[str, Any]:
    spec = {"name": name, "kind": "ids", "dtype": "int64", "shape": ["batch", length], "low": 0, "high": 1}
    return {**spec, "place": marks} if marks else spec


def marked(spec: dict[str, Any], config: Any, wanted: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The text with the special tokens that a model looks for; `length` stands for the text's own."""
    length = f"({spec.get('shape', ('',))[-1]})"
    ids = ((getattr(config, place["token"], None), place["at"].replace("length", length)) for place in wanted)
    own = [{"id": number, "at": at, "count": 1} for number, at in ids if isinstance(number, int)]
    if spec["name"] != "input_ids" or not own:
        return spec
    return {**spec, "place": [*spec.get("place", ()), *own]}

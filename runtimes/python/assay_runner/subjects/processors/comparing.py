"""Compares what processors return with a recipe's inputs. Pure: what was seen goes in, sentences come out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from .probing import Seen


@dataclass(frozen=True)
class Inside:
    """An input that a processor of some kind returns under another name, and the input it must stand beside."""

    name: str
    returned: str
    kinds: tuple[str, ...] = ("image",)
    beside: str = ""


# A part of a model takes what the whole hands to it under a name of its own, and processors of several modalities
# rename what their parts return.
INSIDE = (
    Inside("hidden_states", "pixel_values", beside="grid_thw"),
    Inside("pixel_values", "pixel_values_videos", ("video",)),
    Inside("pixel_values", "pixel_values_images"),
    Inside("image", "pixel_values"),
    Inside("grid_thw", "image_grid_thw"),
    Inside("merge_sizes", "image_merge_sizes"),
    Inside("pixel_position_ids", "image_position_ids"),
    Inside("input_features_mask", "attention_mask", ("audio",)),
    Inside("feature_attention_mask", "attention_mask", ("audio",)),
)
_MASK = "a mask that hides nothing is what a model takes where none is given"
# Given by a processor, taken by forward, and yet not wanted in a recipe.
LEFT_OUT = {
    "token_type_ids": "zeros for one text, which is what a model takes where it is left out",
    "attention_mask": _MASK,
    "pixel_mask": _MASK,
    "pixel_attention_mask": _MASK,
    "padding_mask": _MASK,
    "is_longer": "only a model that fuses views of a sound looks at it",
    "patch_offsets": "passed on for what the caller does with the output",
    "batch_num_images": "one picture to a text is what a model takes where it is left out",
    "height": "passed on for what the caller does with the output",
    "width": "passed on for what the caller does with the output",
    "num_local_patches": "counts tiles, and a recipe's picture is one tile",
    "pixel_values_local": "the tiles of a picture, and a recipe's is one tile",
}
# Goes along with an input, and comes from elsewhere than the processor of that input.
ELSEWHERE = {
    "bbox": "the words' boxes, from whoever read the page",
    "visual_embeds": "features of a detector that is not part of the library",
    "visual_feats": "features of a detector that is not part of the library",
    "visual_pos": "boxes of a detector that is not part of the library",
    "qformer_input_ids": "the same text, read a second time with the tokenizer of the bridge",
    "protein_input_ids": "a protein's tokenizer",
    "speaker_embeddings": "a speaker, from whoever asks",
    "decoder_input_values": "what was spoken so far",
    "input_points": "what a user points at",
    "cross_attention_mask": "made from the places of pictures in the text",
    "image_attention_mask": "made from the places of pictures in the text",
    "image_embeds_position_mask": "made from the places of pictures in the text",
    "feature_lens": "counted from a mask by the whole model",
    "aftercnn_lens": "counted from a mask by the whole model",
}
_KINDS = {"float": "float", "int": "int", "uint": "int", "bool": "bool"}


def expected(spec: Mapping[str, Any], batch: str = "batch") -> Seen:
    """A recipe's input as a processor's output would be seen: symbols are free, a batch is the batch's."""
    dtype = spec.get("dtype", "float32").rstrip("0123456789")
    if spec.get("kind") == "value":
        return Seen(_KINDS[dtype], tuple(_value_axes(spec)))
    axes = (entry if isinstance(entry, int) else batch if batch in entry else "free" for entry in spec["shape"])
    return Seen(_KINDS[dtype], tuple(axes), (0, 1) if spec.get("grid") else ())


def _value_axes(spec: Mapping[str, Any]) -> Iterable[int | str]:
    value, first = spec["value"], bool(spec.get("per_batch"))
    while isinstance(value, list):
        yield "batch" if first else len(value)
        value, first = value[0], False


def differences(name: str, wanted: Seen, seen: Seen) -> list[str]:
    """How a recipe's input differs from a processor's output of the same name."""
    found = []
    if wanted.kind != seen.kind:
        found.append(f"{name} is {seen.kind}, the recipe has {wanted.kind}")
    if seen.counts != wanted.counts:
        found.append(f"{name} counts in its columns {_listed(seen.counts)}, the recipe in {_listed(wanted.counts)}")
    if len(wanted.axes) != len(seen.axes):
        return [*found, f"{name} has {_shape(seen)}, the recipe {_shape(wanted)}"]
    pairs = zip(wanted.axes, seen.axes, strict=True)
    if any(_conflict(mine, its) for mine, its in pairs):
        found.append(f"{name} is {_shape(seen)}, the recipe has {_shape(wanted)}")
    return found


def _conflict(mine: int | str, its: int | str) -> bool:
    """Whether two axes cannot be the same one: two numbers that differ, or a batch where the other has none."""
    if isinstance(mine, int) and isinstance(its, int):
        return mine != its
    return (mine == "batch" and isinstance(its, int)) or (its == "batch" and isinstance(mine, int))


def _listed(columns: tuple[int, ...]) -> str:
    return ", ".join(map(str, columns[:4])) or "none"


def _shape(seen: Seen) -> str:
    return "[" + ", ".join(map(str, seen.axes)) + "]"


def renamed(specs: Iterable[Mapping[str, Any]], seen: Iterable[str], kind: str) -> dict[str, str]:
    """The recipe's inputs that a processor returns too: their name, and the one it returns them under."""
    names, returned = [spec["name"] for spec in specs], set(seen)
    known = {row.name: row.returned for row in INSIDE
             if row.returned in returned and kind in row.kinds and (not row.beside or row.beside in names)}  # fmt: skip
    return {name: name if name in returned else known[name] for name in names if name in returned or name in known}


def lacking(seen: Mapping[str, Seen], matched: Iterable[str], parameters: Iterable[str]) -> list[str]:
    """Names that a processor gives, forward takes and the recipe lacks."""
    have, takes = set(matched), set(parameters)
    return [name for name in seen if name in takes and name not in have and name not in LEFT_OUT]

"""Sequences that a mask can hide a part of, and the same sequence shorter or padded.

A mask of rows and positions is of all inputs that have an axis of the same length in the recipe's words (`seq + 4`):
ids, marks, embeddings, other masks. Placed tokens (those of an image) stay whole: what is cut off comes after them.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from assay_runner.subjects import samples
from assay_runner.subjects.expressions import evaluate
from assay_runner.subjects.outputs import Tensors

Spec = Mapping[str, Any]
HIDDEN = 3  # positions that are cut off
_MASK = re.compile(r"(?!.*observed)" + samples.MASK.pattern)
"""Of padding; what was not observed is there all the same."""
_IDS = re.compile(r"(\w+_)?input_ids")


@dataclass(frozen=True)
class Stretch:
    """A sequence: its mask, the inputs along it with their axes, how long it is, and how much may be cut off its end.
    `material` says that it is of sounds or images, which a model thins out and processors pad with silence."""

    mask: str
    along: Mapping[str, int]
    length: int
    room: int
    pad: int | None
    material: bool
    ids: str = ""

    @property
    def count(self) -> int:
        """How many positions are cut off: few, and at least one stays."""
        return max(min(HIDDEN, self.room, self.length - 1), 0)


def visible(outputs: Tensors, mask: torch.Tensor, others: Collection[int]) -> Tensors:
    """The outputs of a sound or image where its mask is one. A model gives fewer positions than there are frames; an
    output as long as another sequence is that one's."""
    found = {}
    for name, t in outputs.items():
        frames = t.dim() > 2 and t.shape[0] == mask.shape[0] and t.shape[1] <= mask.shape[1]
        found[name] = t[samples.thinned(mask != 0, t.shape[1])] if frames and t.shape[1] not in others else t
    return found


def find(recipe: Mapping[str, Any], sizes: Mapping[str, int], tensors: Tensors, config: Any) -> list[Stretch]:
    """The sequences of a recipe that have a mask of ones."""
    found: dict[Any, Stretch] = {}
    for spec in recipe.get("inputs", []):
        plain = spec.get("kind") == "ones" and _MASK.fullmatch(spec["name"])
        if plain and len(spec["shape"]) == 2 and spec["shape"][0] == "batch" and spec["shape"][1] not in found:
            found[spec["shape"][1]] = _stretch(recipe, sizes, tensors, config, spec)
    return [stretch for stretch in found.values() if len(stretch.along) > 1]


def _stretch(recipe: Mapping[str, Any], sizes: Mapping[str, int], tensors: Tensors, config: Any, mask: Spec) -> Stretch:
    rows = [(spec, _axis(spec, mask["shape"][1])) for spec in recipe["inputs"]]
    along = {spec["name"]: axis for spec, axis in rows if axis is not None}
    specs = [spec for spec, axis in rows if axis is not None]
    length = tensors[mask["name"]].shape[1]
    ids = [spec["name"] for spec in specs if spec["kind"] == "ids" and _IDS.fullmatch(spec["name"])]
    material = not ids and any(spec["kind"] == "float" and samples.material(spec["name"]) for spec in specs)
    room = min((_room(spec, sizes, length) for spec in specs), default=length)
    return Stretch(mask["name"], along, length, room, padding_id(config), material, ids[0] if ids else "")


def _axis(spec: Spec, size: Any) -> int | None:
    """The axis of an input that has this length, after that of its rows."""
    shape = spec.get("shape", [])
    return next((axis for axis in range(1, len(shape)) if shape[axis] == size), None)


def _room(spec: Spec, sizes: Mapping[str, int], length: int) -> int:
    ends = [evaluate(row["at"], sizes) + evaluate(row.get("count", 1), sizes) for row in spec.get("place", [])]
    return length - max(ends, default=0)


def padding_id(config: Any) -> int | None:
    """The id that a model's padding has, where its vocabulary has one."""
    texts = [config, *(getattr(config, name, None) for name in ("text_config", "decoder", "llm_config"))]
    for one in filter(None, texts):
        number, size = getattr(one, "pad_token_id", None), getattr(one, "vocab_size", None)
        if isinstance(number, int) and isinstance(size, int) and 0 <= number < size:
            return number
    return None


def cut(tensors: Tensors, sequences: Sequence[Stretch]) -> Tensors:
    """The inputs without the last positions of each sequence."""
    made = dict(tensors)
    for one in sequences:
        made |= {name: made[name].narrow(axis, 0, one.length - one.count) for name, axis in one.along.items()}
    return made


def padded(tensors: Tensors, sequences: Sequence[Stretch], row: int, after: bool) -> Tensors:
    """The inputs of two rows of which one row is as short as `cut` makes it, filled up at its end or before it."""
    made = dict(tensors)
    for one in sequences:
        for name, axis in one.along.items():
            made[name] = made[name].clone()
            each = made[name].shape[0] // 2  # some inputs have several lines for each row
            _fill(made[name].narrow(0, row * each, each), axis, one, name, after)
    return made


def _fill(t: torch.Tensor, axis: int, one: Stretch, name: str, after: bool) -> None:
    """Moves what stays to its place, and hides the rest as processors do: under the id of padding where
    there is one, marks and boxes under zeros."""
    kept = one.length - one.count
    if not after:
        t.copy_(torch.cat([t.narrow(axis, kept, one.count), t.narrow(axis, 0, kept)], dim=axis))
    hidden = t.narrow(axis, kept if after else 0, one.count)
    if samples.MASK.fullmatch(name):
        hidden.zero_()
    elif _IDS.fullmatch(name):
        hidden.fill_(one.pad) if one.pad is not None else None
    elif not t.is_floating_point():
        hidden.zero_()


def shorter(outputs: Tensors, like: Tensors, sequences: Sequence[Stretch], after: bool) -> tuple[Tensors, Tensors]:
    """Outputs of a padded row without the positions that padding has, and those of the short row that they can be
    compared with. An axis that is longer by as much as was cut off is a sequence's; what a model puts before or behind
    the words (an image) stays."""
    found, expected = {}, {}
    for name, t in outputs.items():
        wanted = like.get(name)
        if wanted is None or wanted.dim() != t.dim():
            continue
        for axis in range(t.dim()):
            t = _without(t, wanted, axis, sequences, after)
        if t.shape == wanted.shape:
            found[name], expected[name] = t, wanted
    return found, expected


def _without(
    t: torch.Tensor, wanted: torch.Tensor, axis: int, sequences: Sequence[Stretch], after: bool
) -> torch.Tensor:
    """A tensor without padding along an axis: behind the words or at the end, before them or at the start, whichever
    is nearer to what is wanted."""
    more, size = t.shape[axis] - wanted.shape[axis], t.shape[axis]
    own = [one for one in sequences if one.count == more and one.length <= size]
    if not more or not own:
        return t
    length = own[0].length
    starts = {length - more, size - more} if after else {0, size - length}
    tried = [torch.cat([t.narrow(axis, 0, a), t.narrow(axis, a + more, size - a - more)], axis) for a in sorted(starts)]
    same = tried[0].shape == wanted.shape and wanted.is_floating_point()
    return min(tried, key=lambda one: (one - wanted).abs().mean().nan_to_num().item()) if same else tried[0]

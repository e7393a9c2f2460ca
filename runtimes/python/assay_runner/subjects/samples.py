"""Further inputs that a model must be right on, made of its recipe by rule.

The inputs that a graph is traced with prove little about it: their values may stand in it. So there are others. Each is
one row of RULES, which says in its name what is different: the numbers come from another seed, they are the first or
the last there are, something is padded, the tokens of an image stand elsewhere, an image has another form. All have
the shapes of the first, since a graph of fixed shapes takes no others; what a model refuses is for its caller to leave
out.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from assay_runner.subjects import inputs
from assay_runner.subjects.expressions import evaluate

Spec = Mapping[str, Any]
Tensors = dict[str, torch.Tensor]

PADDED = "padded at the end"
WORDS_PADDED = "words padded at the end"
HALF = "padded by half"
FIRST, LAST = "first ids and zeros", "last ids and largest numbers"
EDGES = frozenset({FIRST, LAST})
_OTHER_SEED = 1000  # far from those of controls and of calibration
_HIDDEN = 3  # positions that padding covers in the first row; one more in each further row
_LESS = 8  # of what is no text half is covered in the first row, and an eighth less in each further one
_MOVED = 3  # positions that placed tokens go up

MASK = re.compile(r"(.*_)?masks?(_videos)?")
_GRID = re.compile(r"(.*_)?grids?_(thw|hws?)|spatial_shapes|target_sizes|tgt_sizes")
_RAGGED = re.compile(r"(decoder_|context_|classes_|tasks_|qformer_|protein_)?attention_mask|input_mask")
"""Masks of words. Those of sounds, images and patches are padded at their end only, as their processors do."""

# What processors make at most, by the input's name: pixels less their mean, loudness in logarithms, waves of one
# deviation. Anything else is drawn between -1 and 1 and stays there.
_LARGEST = (
    (re.compile(r".*pixel.*|image"), 2.7),
    (re.compile(r".*(features|spectrogram|mel)"), 4.0),
    (re.compile(r"(audio_|input_)?values"), 4.0),
)
_MATERIAL = re.compile(r".*pixel.*|image|(audio_)?(input_)?(features|values)|.*(spectrogram|mel)")
"""Sounds and images."""


def material(name: str) -> bool:
    """Whether an input is a sound or an image."""
    return bool(_MATERIAL.fullmatch(name))


@dataclass(frozen=True)
class Sample:
    """Inputs by name, and which of them are masks that hide something."""

    name: str
    tensors: Tensors
    masks: tuple[str, ...] = ()

    def visible(self, outputs: Tensors) -> Tensors:
        """The outputs without the positions that a mask hides: what a model gives there is nobody's business."""
        for mask in (self.tensors[name] for name in self.masks):
            if mask.dim() == 2:
                frames = any(t.is_floating_point() and t.shape[:2] == mask.shape for t in self.tensors.values())
                outputs = {name: _seen(t, mask != 0, frames) for name, t in outputs.items()}
        return outputs


def _seen(output: torch.Tensor, mask: torch.Tensor, frames: bool) -> torch.Tensor:
    """An output by rows and positions, where the mask has one; any other as it is. Models of sounds give fewer
    positions than there are frames: one counts where all the frames that it stands for do."""
    if output.dim() >= 2 and output.shape[:2] == mask.shape:
        return output[mask]
    if frames and output.dim() > 2 and output.shape[0] == mask.shape[0] and output.shape[1] < mask.shape[1]:
        return output[thinned(mask, output.shape[1])]
    return output


def thinned(mask: torch.Tensor, count: int) -> torch.Tensor:
    """A mask of fewer positions, each of which is one where all that it stands for are."""
    length = mask.shape[1]
    starts = [position * length // count for position in range(count)]
    ends = [-(-(position + 1) * length // count) for position in range(count)]
    return torch.stack([mask[:, a:b].all(dim=1) for a, b in zip(starts, ends, strict=True)], dim=1)


@dataclass(frozen=True)
class Drawn:
    """The recipe's inputs of one point: what the rules see."""

    recipe: Mapping[str, Any]
    sizes: Mapping[str, int]
    tensors: Tensors
    again: Callable[[int], Tensors]  # the same with another seed

    def specs(self, kind: str, names: re.Pattern[str] | None = None) -> list[Spec]:
        """The inputs of a kind."""
        rows = (spec for spec in self.recipe.get("inputs", []) if spec.get("kind") == kind)
        return [spec for spec in rows if names is None or names.fullmatch(spec["name"])]

    def changed(self, name: str, more: Mapping[str, torch.Tensor], masks: Sequence[str] = ()) -> Sample | None:
        """A sample with other values for some inputs; None where they are the same as before."""
        if all(torch.equal(t, self.tensors[key]) for key, t in more.items()):
            return None
        return Sample(name, {**self.tensors, **more}, tuple(masks))


def _from_another_seed(drawn: Drawn, name: str) -> Sample | None:
    return drawn.changed(name, drawn.again(_OTHER_SEED))


def _first(drawn: Drawn, name: str) -> Sample | None:
    """The first id everywhere, and nothing in pictures and sounds."""
    more = {spec["name"]: _unplaced(drawn, spec, spec.get("low", 0)) for spec in drawn.specs("ids")}
    return drawn.changed(name, more | {spec["name"]: _scaled(drawn, spec, 0.0) for spec in drawn.specs("float")})


def _last(drawn: Drawn, name: str) -> Sample | None:
    """The last id everywhere, and the largest numbers, of either sign."""
    more = {spec["name"]: _unplaced(drawn, spec, spec["high"] - 1) for spec in drawn.specs("ids")}
    return drawn.changed(name, more | {s["name"]: _scaled(drawn, s, _largest(s["name"])) for s in drawn.specs("float")})


def _unplaced(drawn: Drawn, spec: Spec, number: int) -> torch.Tensor:
    """Ids that are all the same but for those that have their place."""
    ids = torch.full_like(drawn.tensors[spec["name"]], number)
    for start, count, placed in _places(drawn, spec):
        ids[..., start : start + count] = placed
    return ids


def _places(drawn: Drawn, spec: Spec) -> list[tuple[int, int, int]]:
    """Where placed ids begin, how many there are, and which."""
    return [
        (evaluate(row["at"], drawn.sizes), evaluate(row.get("count", 1), drawn.sizes), row["id"])
        for row in spec.get("place", [])
    ]


def _largest(name: str) -> float:
    return next((most for names, most in _LARGEST if names.fullmatch(name)), 1.0)


def _scaled(drawn: Drawn, spec: Spec, size: float) -> torch.Tensor:
    """Numbers of one size with the signs that were drawn; the coordinates of a patch stay."""
    tensor = drawn.tensors[spec["name"]]
    made = tensor.sign() * size
    if spec.get("grid"):
        made[..., :2] = tensor[..., :2]
    return made


def _padded_after(drawn: Drawn, name: str) -> Sample | None:
    return _padded(drawn, name, drawn.specs("ones", MASK), after=True)


def _words_padded_after(drawn: Drawn, name: str) -> Sample | None:
    return _padded(drawn, name, _of_words(drawn), after=True)


def _words_padded_before(drawn: Drawn, name: str) -> Sample | None:
    return _padded(drawn, name, _of_words(drawn), after=False)


def _padded_by_half(drawn: Drawn, name: str) -> Sample | None:
    """A model thins out samples, frames and pixels: the few that are hidden otherwise may leave no trace."""
    more: Tensors = {}
    for spec in drawn.specs("ones", MASK):
        if _as_long(drawn, spec, "ids"):
            continue
        mask = more[spec["name"]] = drawn.tensors[spec["name"]].clone()
        length = mask.shape[-1]
        for row in range(mask.shape[0]):
            mask[row, ..., length - max(length // 2 - row * (length // _LESS), 1) :] = 0
    return drawn.changed(name, more, list(more))


def _of_words(drawn: Drawn) -> list[Spec]:
    """The masks of words, and of other positions that may be padded at either side. Some of sounds have their names."""
    masks = drawn.specs("ones", _RAGGED)
    return [mask for mask in masks if _as_long(drawn, mask, "ids") or not _as_long(drawn, mask, "float", _MATERIAL)]


def _as_long(drawn: Drawn, mask: Spec, kind: str, names: re.Pattern[str] | None = None) -> bool:
    """Whether a mask has as many positions as some input of a kind: it is of that input."""
    return any(mask["shape"][-1] in spec["shape"][1:] for spec in drawn.specs(kind, names))


def _padded(drawn: Drawn, name: str, specs: Sequence[Spec], after: bool) -> Sample | None:
    """Rows of different length: what is hidden has the id of padding, where the model has one."""
    more: Tensors = {}
    for spec in specs:
        mask = drawn.tensors[spec["name"]].clone()
        along = [ids for ids in drawn.specs("ids") if _goes_along(drawn, ids, mask)]
        room = min((_room(drawn, ids, after) for ids in along), default=mask.shape[-1] - 1)
        for row in range(mask.shape[0]):
            count = min(_HIDDEN + row, room, mask.shape[-1] - 1)
            if count < 1:
                continue
            hidden = slice(mask.shape[-1] - count, None) if after else slice(0, count)
            mask[row, ..., hidden] = 0
            for ids in along:
                made = more.setdefault(ids["name"], drawn.tensors[ids["name"]].clone())
                made[row, hidden] = _padding(drawn, made[row, hidden])
        if not torch.equal(mask, drawn.tensors[spec["name"]]):
            more[spec["name"]] = mask
    return drawn.changed(name, more, [spec["name"] for spec in specs if spec["name"] in more])


def _goes_along(drawn: Drawn, ids: Spec, mask: torch.Tensor) -> bool:
    """Whether a mask of words is of these ids. Marks that say what each word is stay as they are."""
    own = re.fullmatch(r"(\w+_)?input_ids", ids["name"])
    return bool(own) and drawn.tensors[ids["name"]].shape == mask.shape


def _room(drawn: Drawn, ids: Spec, after: bool) -> int:
    """How many ordinary words stand before the first placed one, or after the last."""
    places = _places(drawn, ids)
    length = drawn.tensors[ids["name"]].shape[-1]
    if not places:
        return length - 1
    return length - max(start + count for start, count, _ in places) if after else min(place[0] for place in places)


def _padding(drawn: Drawn, words: torch.Tensor) -> torch.Tensor:
    config = drawn.recipe.get("config", {})
    number = config.get("pad_token_id")
    if not isinstance(number, int) or not 0 <= number < config.get("vocab_size", number + 1):
        return words
    return torch.full_like(words, number)


def _moved(drawn: Drawn, name: str) -> Sample | None:
    """Everything that is placed in a text stands further on, with the marks that go along."""
    more: Tensors = {}
    for spec in drawn.specs("ids"):
        tensor, places = drawn.tensors[spec["name"]], _places(drawn, spec)
        if tensor.dim() != 2 or not places:
            continue
        more[spec["name"]] = _shifted(tensor, places)
    return drawn.changed(name, more)


def _shifted(ids: torch.Tensor, places: Sequence[tuple[int, int, int]]) -> torch.Tensor:
    """The same words with what is placed further on, as far as there is room after the last; the words that stood there
    come before it."""
    start, end = min(place[0] for place in places), max(place[0] + place[1] for place in places)
    far = min(_MOVED, ids.shape[-1] - end)
    block, passed = ids[:, start:end], ids[:, end : end + far]
    return torch.cat([ids[:, :start], passed, block, ids[:, end + far :]], dim=1)


def _other_form(drawn: Drawn, name: str) -> Sample | None:
    """Images of as many patches, lower and wider."""
    more = {spec["name"]: _widened(drawn.tensors[spec["name"]]) for spec in drawn.specs("value", _GRID)}
    return drawn.changed(name, more)


def _widened(grid: torch.Tensor) -> torch.Tensor:
    made = grid.clone()
    even = made[..., -2] % 2 == 0
    made[..., -2] = torch.where(even, made[..., -2] // 2, made[..., -2])
    made[..., -1] = torch.where(even, made[..., -1] * 2, made[..., -1])
    return made


def _two_frames(drawn: Drawn, name: str) -> Sample | None:
    """As many patches, in two frames of half the height."""
    grids = [spec["name"] for spec in drawn.specs("value", _GRID) if drawn.tensors[spec["name"]].shape[-1] == 3]
    more = {grid: _halved(drawn.tensors[grid]) for grid in grids}
    return drawn.changed(name, more)


def _halved(grid: torch.Tensor) -> torch.Tensor:
    made = grid.clone()
    even = made[..., 1] % 4 == 0
    made[..., 0] = torch.where(even, made[..., 0] * 2, made[..., 0])
    made[..., 1] = torch.where(even, made[..., 1] // 2, made[..., 1])
    return made


RULES: tuple[tuple[str, Callable[[Drawn, str], Sample | None]], ...] = (
    ("from another seed", _from_another_seed),
    (FIRST, _first),
    (LAST, _last),
    (PADDED, _padded_after),
    (WORDS_PADDED, _words_padded_after),
    ("words padded at the start", _words_padded_before),
    (HALF, _padded_by_half),
    ("placed tokens moved", _moved),
    ("images of another form", _other_form),
    ("images of two frames", _two_frames),
)


def make(recipe: Mapping[str, Any], point: Mapping[str, Any], seed: int, dtype: torch.dtype) -> list[Sample]:
    """The samples beside the first, each different from it and from the others."""

    def again(other: int) -> Tensors:
        return inputs.make(recipe, point, seed + other, dtype)

    drawn = Drawn(recipe, inputs.sizes(recipe, point), again(0), again)
    found: list[Sample] = []
    for name, rule in RULES:
        sample = rule(drawn, name)
        if sample is not None and not any(_same(sample, other) for other in found):
            found.append(sample)
    return found


def _same(one: Sample, other: Sample) -> bool:
    return all(torch.equal(t, other.tensors[name]) for name, t in one.tensors.items())

"""The judge's own inputs: drawn from a recipe by other rules than the runner's, so that both can be wrong only apart.

Nothing here is taken from `subjects.samples`. Numbers come from numpy's generator, masks hide a drawn number of
positions on either side of each row, hidden positions hold drawn words, and what is placed in a text goes wherever
there is room.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch

from assay_runner.subjects.expressions import evaluate

Tensors = dict[str, torch.Tensor]
Spec = Mapping[str, Any]

_WORDS = re.compile(r"(\w+_)?input_ids")
_WORD_MASK = re.compile(r"(decoder_)?attention_mask")
_PICTURE = re.compile(r".*pixel_values.*|image|images")
_OFFSETS = 4  # how many places up a placed block goes at most


@dataclass
class Given:
    """Inputs for a model, and what its masks show, by row and position."""

    name: str
    tensors: Tensors
    seen: list[torch.Tensor] = field(default_factory=list)
    touched: set[str] = field(default_factory=set)  # inputs that are not as the recipe's first ones

    def visible(self, output: torch.Tensor) -> torch.Tensor:
        """An output without what no one looks at."""
        alike = [mask for mask in self.seen if output.dim() >= 2 and output.shape[:2] == mask.shape]
        return output[torch.stack(alike).all(0)] if alike else output


@dataclass
class Drawing:
    """What draws inputs for one model."""

    recipe: Mapping[str, Any]
    first: Tensors  # the inputs that the graph was exported with
    sizes: Mapping[str, int]
    free: frozenset[str]  # inputs that the graph takes; any other stays as it was

    def each(self, seeds: Iterable[int]) -> Iterator[tuple[int, Given]]:
        """Every kind of input for each seed."""
        return ((seed, given) for seed in seeds for given in self.all(seed))

    def all(self, seed: int) -> Iterator[Given]:
        """Every kind of input once."""
        for number, (name, rule) in enumerate(_RULES.items()):
            draw = np.random.default_rng([seed, number])
            given = Given(name, dict(self.first))
            rule(self, draw, given)
            if given.touched:
                yield given

    def specs(self, *kinds: str) -> list[Spec]:
        """The recipe's inputs of these kinds that may be drawn."""
        return [s for s in self.recipe["inputs"] if s.get("kind") in kinds and s["name"] in self.free]

    def put(self, given: Given, name: str, array: np.ndarray) -> None:
        """Gives an input other values."""
        made = torch.from_numpy(np.ascontiguousarray(array)).to(self.first[name].dtype)
        if not torch.equal(made, given.tensors[name]):
            given.tensors[name] = made
            given.touched.add(name)

    def places(self, spec: Spec) -> list[tuple[int, int, int]]:
        """Start, count and id of what is placed."""
        return [
            (evaluate(p["at"], self.sizes), evaluate(p.get("count", 1), self.sizes), p["id"])
            for p in spec.get("place", [])
        ]


Rule = Callable[[Drawing, np.random.Generator, Given], None]
"""Changes inputs that were the first ones."""


def _fresh(d: Drawing, draw: np.random.Generator, given: Given) -> None:
    for spec in d.specs("ids"):
        shape = d.first[spec["name"]].shape
        _put_ids(d, given, spec, draw.integers(spec.get("low", 0), spec["high"], shape))
    for spec in d.specs("float"):
        _put_floats(d, given, spec, draw.normal(0, 0.6, d.first[spec["name"]].shape))


def _put_ids(d: Drawing, given: Given, spec: Spec, ids: np.ndarray) -> None:
    for start, count, number in d.places(spec):
        ids[..., start : start + count] = number
    d.put(given, spec["name"], ids)


def _put_floats(d: Drawing, given: Given, spec: Spec, numbers: np.ndarray) -> None:
    numbers = numbers.astype(np.float32)
    if spec.get("grid"):  # rows and columns of patches are no numbers to draw
        numbers[..., :2] = d.first[spec["name"]].numpy()[..., :2]
    d.put(given, spec["name"], numbers)


def _edges(d: Drawing, draw: np.random.Generator, given: Given) -> None:
    """The first and the last id in turn, and numbers at the end of their range, of either sign."""
    for spec in d.specs("ids"):
        shape = d.first[spec["name"]].shape
        ends = np.asarray([spec.get("low", 0), spec["high"] - 1])
        _put_ids(d, given, spec, ends[draw.integers(0, 2, shape)])
    for spec in d.specs("float"):
        largest = 2.5 if _PICTURE.fullmatch(spec["name"]) else 1.0
        _put_floats(d, given, spec, draw.choice([-largest, 0.0, largest], d.first[spec["name"]].shape))


def _flat(d: Drawing, draw: np.random.Generator, given: Given) -> None:
    """One word only, and pictures and sounds of one colour."""
    for spec in d.specs("ids"):
        number = int(draw.integers(spec.get("low", 0), spec["high"]))
        _put_ids(d, given, spec, np.full(d.first[spec["name"]].shape, number))
    for spec in d.specs("float"):
        _put_floats(d, given, spec, np.full(d.first[spec["name"]].shape, draw.uniform(-1, 1)))


def _hidden(before: bool) -> Rule:
    """Words hidden on one side, a number of its own for each row."""

    def rule(d: Drawing, draw: np.random.Generator, given: Given) -> None:
        for spec in d.specs("ones"):
            mask = d.first[spec["name"]].numpy().copy()
            if mask.ndim != 2 or not _WORD_MASK.fullmatch(spec["name"]):
                continue
            low, high = _ordinary(d, spec["name"], mask.shape)
            room = low if before else mask.shape[1] - high
            for row in range(mask.shape[0]):
                count = int(draw.integers(1, room + 1)) if room > 0 else 0
                mask[row, slice(0, count) if before else slice(mask.shape[1] - count, None)] = 0
            d.put(given, spec["name"], mask)
            given.seen.append(torch.from_numpy(mask) != 0)

    return rule


def _ordinary(d: Drawing, mask: str, shape: tuple[int, ...]) -> tuple[int, int]:
    """Where the first placed word stands and where the last ends, in the texts that a mask is of: neither may be
    hidden, and one word must be left."""
    ids = [s for s in d.recipe["inputs"] if s.get("kind") == "ids" and _WORDS.fullmatch(s["name"])]
    rows = [p for s in ids if d.first[s["name"]].shape == shape for p in d.places(s)]
    if not rows:
        return shape[1] - 1, 1
    return min(start for start, _, _ in rows), max(start + count for start, count, _ in rows)


def _moved(d: Drawing, draw: np.random.Generator, given: Given) -> None:
    """What is placed in texts stands further on, by the same number of words in all of them."""
    specs = [s for s in d.recipe["inputs"] if s.get("kind") == "ids" and s.get("place")]
    if not specs or any(s["name"] not in d.free or d.first[s["name"]].dim() != 2 for s in specs):
        return
    ends = [start + count for s in specs for start, count, _ in d.places(s)]
    room = min(d.first[s["name"]].shape[1] for s in specs) - max(ends)
    if room < 1:
        return
    far = int(draw.integers(1, min(room, _OFFSETS) + 1))
    for spec in specs:
        shape = d.first[spec["name"]].shape
        ids = draw.integers(spec.get("low", 0), spec["high"], shape)
        for start, count, number in d.places(spec):
            ids[..., start + far : start + far + count] = number
        d.put(given, spec["name"], ids)


def _with(first: Rule, then: Rule) -> Rule:
    """Both; nothing where the second one has nothing to change."""

    def rule(d: Drawing, draw: np.random.Generator, given: Given) -> None:
        first(d, draw, given)
        before = set(given.touched)
        then(d, draw, given)
        if given.touched == before:
            given.touched.clear()

    return rule


_RULES: Mapping[str, Rule] = {
    "fresh": _fresh,
    "edges": _edges,
    "flat": _flat,
    "hidden after": _with(_fresh, _hidden(before=False)),
    "hidden before": _with(_fresh, _hidden(before=True)),
    "moved": _moved,
    "edges, hidden before": _with(_edges, _hidden(before=True)),
}

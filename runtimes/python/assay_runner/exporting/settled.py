"""Inputs that can change nothing: with the shapes that the others have, a model gives the same for each value it takes.

The size of an image says how many patches it has, and a graph of fixed shapes has room for just that many. Such an
input can be written into a graph without taking anything away. It is found out by trials of other values, those of the
samples among them: each must be refused by the model, give other shapes, or give the same numbers. Of a mask other
shapes count as a change: whoever has padded inputs would have to do without.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from itertools import chain, permutations
from typing import Any

import torch

from assay_runner.subjects.outputs import Tensors, flatten, home
from assay_runner.subjects.samples import MASK

STEP = "settled inputs"
_AXES = 3  # that a grid has at most

Run = Callable[[Mapping[str, torch.Tensor]], Any]


def settled(run: Run, samples: Collection[Mapping[str, torch.Tensor]], name: str) -> bool:
    """Whether no other value of an input that is tried changes anything in the first of the samples."""
    tensors = next(iter(samples))
    expected = home(flatten(run(tensors)))
    masks = _mask(name, tensors[name])
    seen = (given[name] for given in samples if not torch.equal(given[name], tensors[name]))
    tried = chain(seen, _hiding(tensors[name]) if masks else _others(tensors[name]))
    return not any(_changes(run, {**tensors, name: other}, expected, masks) for other in tried)


def _mask(name: str, tensor: torch.Tensor) -> bool:
    return bool(MASK.fullmatch(name)) and tensor.dim() > 1


def _others(tensor: torch.Tensor) -> Iterator[torch.Tensor]:
    """Other values that such an input may have: larger, smaller, turned round, uneven, none, of another form."""
    if tensor.dtype is torch.bool:
        yield ~tensor
        return
    uneven = torch.arange(1, 1 + tensor.shape[-1]) if tensor.dim() else 2
    even = (tensor + 1, tensor - 1, tensor * 2, tensor // 2, tensor // 2 * 3, tensor * 0, tensor * uneven)
    made = (*even, tensor.flip(-1), _halved(tensor, 0), _halved(tensor, -1), *_forms(tensor)) if tensor.dim() else even
    yield from (other.to(tensor.dtype) for other in made if not torch.equal(other, tensor))


def _forms(tensor: torch.Tensor) -> Iterator[torch.Tensor]:
    """Of sizes and grids the same product otherwise: one number twice as large and another half as large."""
    if tensor.shape[-1] > _AXES:
        return
    for larger, smaller in permutations(range(tensor.shape[-1]), 2):
        made = _halved(tensor, smaller)
        made[..., larger] = made[..., larger] * 2
        yield made


def _hiding(mask: torch.Tensor) -> Iterator[torch.Tensor]:
    """Masks that hide a part of the last positions, of the first ones, anything, and everything; and one of twos."""
    length = mask.shape[-1]
    if mask.dtype is not torch.bool:
        yield mask * 2
    for count in sorted({1, 2, 3, 4, 8, *(length // part for part in (16, 8, 4, 2))} - {0}, reverse=True):
        if count < length:
            for hidden in (slice(length - count, None), slice(0, count)):
                made = mask.clone()
                made[..., hidden] = 0
                yield made
    draw = torch.Generator().manual_seed(length)
    for share in (0.0, 0.1, 0.3, 0.5, 0.7, 0.9, 0.99):
        yield mask * (torch.rand(mask.shape, generator=draw) < share).to(mask.dtype)


def _halved(tensor: torch.Tensor, axis: int) -> torch.Tensor:
    """The same with one of its last axis's numbers halved."""
    made = tensor.clone()
    made[..., axis] = made[..., axis] // 2
    return made


def _changes(run: Run, tensors: Mapping[str, torch.Tensor], expected: Tensors, shapes: bool) -> bool:
    """Whether a model gives something else; shapes says whether other ones count."""
    try:
        found = home(flatten(run(tensors)))
    except Exception:  # noqa: BLE001 - whatever it is, the model does not take such inputs
        return False
    if {name: t.shape for name, t in found.items()} != {name: t.shape for name, t in expected.items()}:
        return shapes
    return any(not torch.equal(t, expected[name]) for name, t in found.items())

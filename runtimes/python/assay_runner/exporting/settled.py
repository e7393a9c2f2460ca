"""Inputs that can change nothing: with the shapes that the others have, a model gives the same for each value it takes.

The size of an image says how many patches it has, and a graph of fixed shapes has room for just that many; so does the
mask of a sound of which a model packs what is left. Such an input can be written into a graph without taking anything
away. It is found out by trials of other values: each must be refused by the model, give other shapes, or give the same
numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import torch

from assay_runner.subjects.outputs import Tensors, flatten, home
from assay_runner.subjects.samples import MASK

STEP = "settled inputs"

Run = Callable[[Mapping[str, torch.Tensor]], Any]


def settled(run: Run, tensors: Mapping[str, torch.Tensor], name: str) -> bool:
    """Whether no other value of an input that is tried changes anything."""
    expected = home(flatten(run(tensors)))
    return not any(_changes(run, {**tensors, name: other}, expected) for other in _others(name, tensors[name]))


def _others(name: str, tensor: torch.Tensor) -> Iterator[torch.Tensor]:
    """Other values that such an input may have: larger, smaller, turned round, uneven, none; of a mask, more hidden."""
    if MASK.fullmatch(name) and tensor.dim() > 1:
        yield from _hiding(tensor)
        return
    if tensor.dtype is torch.bool:
        yield ~tensor
        return
    uneven = torch.arange(1, 1 + tensor.shape[-1]) if tensor.dim() else 2
    even = (tensor + 1, tensor - 1, tensor * 2, tensor // 2, tensor // 2 * 3, tensor * 0, tensor * uneven)
    made = (*even, tensor.flip(-1), _halved(tensor, 0), _halved(tensor, -1)) if tensor.dim() else even
    yield from (other.to(tensor.dtype) for other in made if not torch.equal(other, tensor))


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


def _changes(run: Run, tensors: Mapping[str, torch.Tensor], expected: Tensors) -> bool:
    try:
        found = home(flatten(run(tensors)))
    except Exception:  # noqa: BLE001 - whatever it is, the model does not take such inputs
        return False
    if {name: t.shape for name, t in found.items()} != {name: t.shape for name, t in expected.items()}:
        return False
    return any(not torch.equal(t, expected[name]) for name, t in found.items())

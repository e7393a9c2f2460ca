"""The places of a mask, of which only the number is fixed.

Where the tokens of an image stand differs from text to text; how many there are does not, since the image has as many
patches. So what asks for the places of a traced mask gets as many as there are in the call that is exported, and the
graph finds them. What is written to all of them is laid over the rest by the mask itself, whatever their number.
"""

from __future__ import annotations

from math import prod
from typing import Any

import torch

_MASK = "_assay_mask"  # on the places along an axis: the mask, and which axis


def found(mask: torch.Tensor, count: int) -> tuple[torch.Tensor, ...]:
    """As many places of a mask as are asked for, axis by axis, as `nonzero` gives them."""
    flat = (mask != 0).reshape(-1)
    every = torch.arange(flat.shape[0])
    chosen = torch.where(flat, every, every + flat.shape[0])  # which puts those that are hidden behind the others
    places = chosen.topk(count, largest=False, sorted=True).values % flat.shape[0]
    axes = []
    for axis, size in enumerate(mask.shape):
        along = places // prod(mask.shape[axis + 1 :]) % size
        setattr(along, _MASK, (mask, axis))
        axes.append(along)
    return tuple(axes)


def written(tensor: torch.Tensor, indices: Any, values: Any) -> torch.Tensor | None:
    """A tensor in which the places of a mask have these values, in order; None where the indices are none such."""
    parts = indices if isinstance(indices, (tuple, list)) else (indices,)
    marks = [getattr(part, _MASK, None) for part in parts]
    if None in marks or not isinstance(values, torch.Tensor) or values.dim() != tensor.dim() - len(marks) + 1:
        return None
    mask = marks[0][0]
    if [axis for _, axis in marks] != list(range(mask.dim())) or any(own is not mask for own, _ in marks):
        return None
    seen = mask != 0
    order = (seen.reshape(-1).to(torch.int64).cumsum(0) - 1).clamp(0, values.shape[0] - 1)
    spread = values.index_select(0, order).reshape(*mask.shape, *values.shape[1:])
    return torch.where(seen.reshape(*mask.shape, *(1,) * (values.dim() - 1)), spread, tensor)

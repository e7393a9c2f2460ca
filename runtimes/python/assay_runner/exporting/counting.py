"""Ways to count the positions of a text with images that are not `grids.Counting`, in tensors alone.

Each gives the positions of every token for the arguments of a model's own `get_rope_index`. What a mask hides is not
counted: positions are those in the text that is left.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import torch

T = torch.Tensor
Given = Mapping[str, Any]

_MARKERS = ("slice_start_id", "slice_end_id", "image_start_id", "image_end_id", "newline_id")
_MERGES = (1, 2, 4)


def visible(given: Given) -> T:
    """Which tokens count."""
    mask = given.get("attention_mask")
    marks = given["mm_token_type_ids"]
    return torch.ones_like(marks, dtype=torch.bool) if mask is None else mask != 0


def _numbers(seen: T) -> T:
    """The number of each token that counts among those of its row."""
    return seen.to(torch.int64).cumsum(1) - 1


@dataclass(frozen=True)
class Inlaid:
    """Words keep their numbers, whatever stands before them. The tokens of an image, with one more at the end of each
    of its rows, have their column, their row and the image's number as the last three positions; a token before them
    and one after, where there are any, are words."""

    axes: int
    merge: int

    def positions(self, given: Given) -> T:
        """Of each token, by axis."""
        marks, grid, seen = given["mm_token_type_ids"], given["image_grid_thw"], visible(given)
        batch, length = marks.shape
        mine = seen & (marks == 1)
        before = torch.cat([torch.zeros_like(mine[:, :1]), mine[:, :-1]], dim=1)
        starts = (mine & ~before).reshape(-1)
        mine = mine.reshape(-1)
        image = starts.to(torch.int64).cumsum(0) - 1
        of = (image[None, :] == torch.arange(grid.shape[0])[:, None]) & mine[None, :]
        image = torch.where(mine, image, torch.zeros_like(image))
        number = torch.arange(batch * length)
        first = ((of & starts[None, :]).to(torch.int64) * number).sum(1)
        high, wide = (grid[:, axis] // self.merge for axis in (1, 2))
        tokens = high * (wide + 1)
        first = first + (of.to(torch.int64).sum(1) == tokens + 2).to(torch.int64)
        place = number - first[image]
        inside = mine & (place >= 0) & (place < tokens[image])
        across = (wide + 1)[image]
        words = torch.where(seen, _numbers(seen), torch.zeros_like(marks)).reshape(-1)
        inlaid = [torch.where(inside, part, words) for part in (place % across, place // across, image)]
        return torch.stack([*[words] * (self.axes - 3), *inlaid]).reshape(self.axes, batch, length)


@dataclass(frozen=True)
class Canvas:
    """One image on a canvas. The token before it stands outside of the canvas, the first marker after it at the far
    corner, further markers at its origin; words go on after it."""

    merge: int
    markers: tuple[int, ...]

    def positions(self, given: Given) -> T:
        """Of each token, by axis. An image has a token before it."""
        ids, sizes, seen = given["input_ids"], given["target_sizes"], visible(given)
        if ids.shape[0] != 1 or sizes.shape[0] != 1 or given.get("target_sizes_videos") is not None:
            raise KeyError("more than one image")
        number = torch.where(seen, _numbers(seen), torch.full_like(ids, -1))
        mine = seen & (given["mm_token_type_ids"] != 0)
        last = torch.where(mine, number, torch.full_like(number, -1)).amax(1, keepdim=True)
        start = last + 1 - mine.to(torch.int64).sum(1, keepdim=True)
        ends = seen & (number > last)  # the first of them ends the markers after the image
        for marker in self.markers:
            ends = ends & (ids != marker)
        after = torch.where(ends, number, seen.to(torch.int64).sum(1, keepdim=True)).amin(1, keepdim=True)
        high, wide = sizes[0, 0] // self.merge, sizes[0, 1] // self.merge
        origin = (start - 1).clamp(min=0)
        corner, before = number == last + 1, number == start - 1
        beyond = number - after + origin + torch.maximum(high, wide) + 1
        place = number - start

        def along(inside: T, far: T) -> T:
            found = torch.where(mine, origin + inside, origin.expand_as(number))
            found = torch.where(corner, origin + far, found)
            return torch.where(before, (origin - 1).clamp(min=0), found)

        parts = origin.expand_as(number), along(place // wide, high), along(place % wide, wide)
        found = [torch.where(number >= after, beyond, torch.where(number < start - 1, number, p)) for p in parts]
        return torch.where(seen, torch.stack(found), torch.zeros_like(number))


def ways(config: Any, axes: int) -> Iterator[Inlaid | Canvas]:
    """Those that a model of this configuration may have."""
    marked = all(hasattr(config, name) for name in _MARKERS)
    markers = tuple(id for name in _MARKERS if (id := getattr(config, name, None)) is not None)
    for merge in _MERGES:
        if axes > 2:
            yield Inlaid(axes, merge)
        if marked:
            yield Canvas(merge, markers)

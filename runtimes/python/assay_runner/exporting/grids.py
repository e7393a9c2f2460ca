"""Where each patch of packed images lies, computed of their grids in tensors alone.

transformers makes these of a grid's numbers, image by image, in loops that no tracer follows. Here they are made of the
grid as a tensor, for a number of patches that is known: the grid can then be an input of a graph. Images, frames and
patches are counted as the library counts them; its own answers are what these are compared with (`layout_answers`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch

T = torch.Tensor


@dataclass(frozen=True)
class Patches:
    """Of each patch its frame, counted over all images; its number in the frame; and its image's grid."""

    image: T
    frame: T  # of its own image
    start: T  # the number of the first patch of its frame
    inside: T
    height: T
    width: T


def patches(grid: T, count: int) -> Patches:
    """The patches of images with these grids (time, height, width), one after the other."""
    grid = grid.to(torch.int64)
    sizes = grid[:, 0] * grid[:, 1] * grid[:, 2]
    ends = sizes.cumsum(0)
    number = torch.arange(count)
    image = (number[:, None] >= ends[None, :]).to(torch.int64).sum(1)
    height, width = grid[:, 1][image], grid[:, 2][image]
    within = number - (ends - sizes)[image]
    frame = within // (height * width)
    inside = within % (height * width)
    return Patches(image, frame, number - inside, inside, height, width)


def rows_and_columns(found: Patches, merge: int | T) -> tuple[T, T]:
    """Row and column of each patch. Patches come in blocks of merge × merge."""
    size = merge if isinstance(merge, int) else merge.to(torch.int64)[found.image]
    across = found.width // size
    column = (found.inside // (size * size)) % across * size + found.inside % size
    row = found.inside // (size * size * across) * size + (found.inside // size) % size
    return row, column


def position_ids(count: int, grid: T, merge: int | T, include_temporal: bool = False, **_: Any) -> T:
    """As `get_vision_position_ids`."""
    found = patches(grid, count)
    places = rows_and_columns(found, merge)
    return torch.stack([found.frame, *places] if include_temporal else list(places), dim=-1)


def interpolation(
    count: int,
    grid: T,
    side: int,
    mode: str = "bilinear",
    align_corners: bool = False,
    merge: int = 1,
    padding: str = "border",
    **_: Any,
) -> tuple[T, T]:
    """As `get_vision_interpolation_indices_and_weights`."""
    from transformers.vision_utils import _interpolation_axis_taps_weights as along

    found = patches(grid, count)
    row, column = rows_and_columns(found, merge)
    down, down_weights = along(row, found.height, side, mode, align_corners, padding)
    right, right_weights = along(column, found.width, side, mode, align_corners, padding)
    taps = down.shape[1] ** 2
    indices = (down[:, :, None] * side + right[:, None, :]).reshape(count, taps)
    return indices, (down_weights[:, :, None] * right_weights[:, None, :]).reshape(count, taps)


def windows(count: int, grid: T, merge: int, window: int, patch: int) -> tuple[T, T]:
    """As `get_vision_window_index` orders blocks of patches; and for each block in that order which window it is in:
    the number of the window's first block."""
    size = window // merge // patch
    halved = torch.stack([grid[:, 0], grid[:, 1] // merge, grid[:, 2] // merge], dim=1)
    found = patches(halved, count)
    row, column = found.inside // found.width, found.inside % found.width
    above, left = row // size, column // size
    tall = torch.minimum(torch.full_like(row, size), found.height - above * size)
    wide = torch.minimum(torch.full_like(row, size), found.width - left * size)
    first = found.start + above * size * found.width + left * size * tall
    rank = first + (row % size) * wide + column % size
    order = torch.zeros(count, dtype=torch.int64).scatter(0, rank, torch.arange(count))
    return order, first[order]


def frame_pairs(count: int, grid: T, merge: int) -> tuple[T, T]:
    """The blocks of patches of every second frame of videos with these grids, and those of the frames after them; the
    only frame of an image is its own second. `count` is how many blocks each of the two has."""
    time, high, wide = grid[:, 0], grid[:, 1] // merge, grid[:, 2] // merge
    found = patches(torch.stack([(time // 2).clamp(min=1), high, wide], dim=1), count)
    blocks = time * high * wide
    own = found.height * found.width
    first = (blocks.cumsum(0) - blocks)[found.image] + 2 * found.frame * own + found.inside
    return first, torch.where(time[found.image] > 1, first + own, first)


def frame_index(count: int, grid: T) -> T:
    """As `get_vision_frame_index`: the number of each patch's frame from one, and zero in what has one frame alone."""
    found = patches(grid, count)
    return torch.where(grid[:, 0][found.image] > 1, found.frame + 1, torch.zeros_like(found.frame))


def merged_frames(count: int, frames: int, grid: T, down: int, across: int) -> T:
    """As `get_vision_temporal_merge_index`: the patches that become one, down × across of them in each frame. `count`
    is how many blocks there are, each over all frames of its clip."""
    high, wide = grid[:, 1] // down, grid[:, 2] // across
    found = patches(torch.stack([torch.ones_like(high), high, wide], dim=1), count)
    sizes = grid[:, 0] * grid[:, 1] * grid[:, 2]
    width = grid[:, 2][found.image]
    row, column = found.inside // found.width * down, found.inside % found.width * across
    corner = (sizes.cumsum(0) - sizes)[found.image] + row * width + column
    frame = torch.arange(frames)[None, :, None] * (grid[:, 1][found.image] * width)[:, None, None]
    inner = torch.arange(down * across)
    return corner[:, None, None] + frame + inner // across * width[:, None, None] + inner % across


def blocks(count: int, grid: T, merge: int) -> T:
    """As `get_vision_pixel_shuffle_index`: patches frame by frame, those of a block of merge × merge together."""
    found = patches(grid, count)
    row, column = rows_and_columns(found, merge)
    return found.start + row * found.width + column


def nearest_position_ids(count: int, sizes: T, side: int, **_: Any) -> T:
    """As `get_vision_nearest_position_ids`."""
    found = patches(torch.nn.functional.pad(sizes, (1, 0), value=1), count)
    edges = torch.arange(1 / side, 1.0, 1 / side)
    row, column = found.inside // found.width, found.inside % found.width
    down, right = row / found.height, column / found.width
    buckets = [(at[:, None] >= edges[None, :]).to(torch.int64).sum(1) for at in (down, right)]
    return buckets[0] * side + buckets[1]


def same_segment(segment: T) -> T:
    """Whether two patches may see each other, by the segment that each is in."""
    return segment[:, None] == segment[None, :]


@dataclass(frozen=True)
class Counting:
    """How a model counts positions of a text with images: what a later word counts on from after an image, and the
    position of what is padding."""

    by_frames: bool  # the longest of time, height and width; else of the last two
    padding: int
    merge: int


def rope_index(how: Counting, marks: T, visible: T, grids: dict[int, T]) -> T:
    """Time, height and width of each token, as models' `get_rope_index` give them. Tokens that are marked with a number
    of `grids` stand for patches of the images that have their grids there, in order; a run of them is an image."""
    batch, length = marks.shape
    seen = visible.bool()
    marks = torch.where(seen, marks, torch.zeros_like(marks))
    before = torch.cat([torch.zeros_like(marks[:, :1]), marks[:, :-1]], dim=1)
    after = torch.cat([marks[:, 1:], torch.zeros_like(marks[:, :1])], dim=1)
    step = (seen & (marks == 0)).to(torch.int64)
    inner = torch.zeros(3, batch, length, dtype=torch.int64)
    number = torch.arange(batch * length)
    for mark, grid in grids.items():
        mine = marks == mark
        starts = (mine & (before != mark)).reshape(-1)
        run = starts.to(torch.int64).cumsum(0) - 1
        run = torch.where(mine.reshape(-1), run, torch.zeros_like(run))
        first = ((run[None, :] == torch.arange(grid.shape[0])[:, None]) & starts[None, :]).to(torch.int64)
        time, high, wide = (grid[:, axis] // (how.merge if axis else 1) for axis in range(3))
        place = number - (first * number[None, :]).sum(1)[run]
        parts = place // (high * wide)[run], place // wide[run] % high[run], place % wide[run]
        inner = torch.where(mine, torch.stack(parts).reshape(3, batch, length), inner)
        far = torch.maximum(high, wide)
        far = torch.maximum(far, time) if how.by_frames else far
        step = torch.where(mine & (after != mark), far[run].reshape(batch, length), step)
    base = step.cumsum(1) - step
    return torch.where(seen, base + inner, torch.full_like(inner, how.padding))

"""Tables of positions that a model resizes to the form of each image, in tensors alone.

A model has a square table with a row for each place, and interpolates it to as many rows and columns as an image has
patches. torch needs the size of what comes out; here it is known only when the graph runs, while the number of patches
is known before. So the value of each patch is written as a sum over the whole table, with weights that follow from the
patch's row and column and from the image's height and width. The weights are those of torch's interpolation.
"""

from __future__ import annotations

from typing import Any

import torch

from assay_runner.exporting import grids

T = torch.Tensor


def weights(index: T, size: T, side: int, antialias: bool, corners: bool = False) -> T:
    """What each of `side` places of a table contributes to the places `index` of an axis that is resized to `size`:
    linearly, with half-pixel centres, or with the ends on each other (`corners`)."""
    places = torch.arange(side, dtype=torch.float32)
    if corners:
        step = (side - 1) / (size - 1).clamp(min=1).to(torch.float32)
        at = (step * index.to(torch.float32)).clamp(0, side - 1)
        return (1 - (places - at[..., None]).abs()).clamp(min=0)
    scale = side / size.to(torch.float32)
    centre = scale * (index.to(torch.float32) + 0.5)
    if not antialias:
        at = (centre - 0.5).clamp(0, side - 1)
        return (1 - (places - at[..., None]).abs()).clamp(min=0)
    wide = scale.clamp(min=1)
    near = (1 - ((places + 0.5 - centre[..., None]) / wide[..., None]).abs()).clamp(min=0)
    return near / near.sum(-1, keepdim=True)


def resized(table: T, row: T, column: T, height: T, width: T, antialias: bool = True, corners: bool = False) -> T:
    """The values of a table (rows, columns, numbers) at rows and columns of images of these heights and widths."""
    rows, columns, numbers = table.shape
    table = table.to(torch.float32)
    down = weights(row, height, rows, antialias, corners)
    right = weights(column, width, columns, antialias, corners)
    lines = (down @ table.reshape(rows, columns * numbers)).reshape(*down.shape[:-1], columns, numbers)
    return (lines * right[..., None]).sum(-2)


def packed(table: T, count: int, grid: T, merge: int) -> T:
    """The values for the patches of images with these grids (time, height, width), in blocks of merge × merge."""
    found = grids.patches(grid, count)
    row, column = grids.rows_and_columns(found, merge)
    return resized(table, row, column, found.height, found.width).to(table.dtype)


def padded(table: T, count: int, sizes: T, **_: Any) -> T:
    """The values for images of these heights and widths, row by row, for as many patches of each: those that an image
    does not have get the value of its first."""
    height, width = (sizes[:, axis, None].to(torch.int64).expand(-1, count) for axis in range(2))
    number = torch.arange(count).expand(sizes.shape[0], count)
    number = torch.where(number < height * width, number, torch.zeros_like(number))
    return resized(table, number // width, number % width, height, width).to(table.dtype)


def behind_prefixes(patches: T, prefix: T, sizes: T) -> T:
    """The patches of images of these heights and widths one after the other, those of each behind the same prefix."""
    counts = sizes.to(torch.int64).prod(1)
    ahead = prefix.shape[0]
    starts = counts.cumsum(0) - counts + torch.arange(sizes.shape[0]) * ahead
    number = torch.arange(patches.shape[0] + sizes.shape[0] * ahead)
    image = (number[:, None] >= starts[None, :]).to(torch.int64).sum(1) - 1
    inside = number - starts[image]
    source = torch.where(inside < ahead, inside, number - image * ahead)
    return torch.cat([prefix, patches])[source]


def cropped(table: T, count: int, sizes: T) -> T:
    """The values for the patches of images of these heights and widths, from a table that is resized to a square of the
    longer side and then cropped."""
    found = grids.patches(torch.nn.functional.pad(sizes, (1, 0), value=1), count)
    side = torch.maximum(found.height, found.width)
    return resized(table, found.inside // found.width, found.inside % found.width, side, side, antialias=False)


def framed(table: T, mask: T) -> T:
    """The values for the patches of frames, row by row. A mask by rows and columns says where the image in each of them
    is: at the upper left. The table is resized to the image, and what is beside it gets what is at its edge."""
    images, rows, columns = mask.shape
    height, width = (mask.sum(axis)[:, 0, None].expand(-1, rows * columns) for axis in (1, 2))
    number = torch.arange(rows * columns).expand(images, rows * columns)
    return resized(table, number // columns, number % columns, height, width, corners=True).to(table.dtype)

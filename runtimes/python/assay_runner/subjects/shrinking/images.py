"""Pictures of four by four patches, and what is counted from them scaled alike."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from .layers import whole

GRID = 4  # patches along a side
COARSE = 2  # cells along a side in the last of several stages
SMALL_SIDE = 64  # pixels, for models without patches

SIDES = re.compile(r"image_size|img_size|max_img_size|crop_size|pretrain_image_size|input_size")
UNSURE = frozenset({"input_size"})  # sides only beside a patch size; sounds and series have input sizes too
MAPS = re.compile(
    r"resolution|image_embedding_size|memory_attention_rope_(feat|k)_sizes|low_res_mask_size|backbone_feature_sizes"
    r"|prompt_encoder_input_image_size|spec_size"
)
COUNTS = re.compile(
    r"\w*(tokens_per_image|image_seq_len|num_image_tokens|image_tokens|num_position_embeddings|num_patches"
    r"|num_latents_2d)\w*"
)


@dataclass(frozen=True)
class Scale:
    """How much smaller pictures become along a side, and the side of a small one."""

    ratio: float
    side: int | None = None


def scale_of(tree: Mapping[str, Any]) -> Scale | None:
    """The scale that brings the finest grid of patches in the configuration down to the least that it needs."""
    grids = sorted(_grids(tree), reverse=True)
    if grids:
        cells, least, patch = grids[0]
        return Scale(cells / least, patch * least) if cells > least else None
    side = _side(tree)
    return Scale(side / SMALL_SIDE) if whole(side) and side > SMALL_SIDE else None


def _grids(tree: Mapping[str, Any]) -> list[tuple[int, int, int]]:
    """(patches along a side, how many are needed, pixels of a patch) of every part that sees pictures."""
    found = [grid for value in tree.values() if isinstance(value, Mapping) for grid in _grids(value)]
    side, patch = (
        first(tree.get("image_size") or tree.get("img_size") or tree.get("input_size")),
        last(tree.get("patch_size")),
    )
    if whole(side) and whole(patch) and side >= patch > 0:
        found.append((side // patch, max(GRID, COARSE * _halvings(tree, patch)), patch))
    return found


def _halvings(tree: Mapping[str, Any], patch: int) -> int:
    """How many patches along a side become one by the last stage."""
    stride, stages = tree.get("output_stride"), tree.get("depths")
    if whole(stride):
        return -(-stride // patch)
    merges = isinstance(stages, (list, tuple)) and patch > 1  # single pixels stay what they are, for super-resolution
    return 2 ** (len(stages) - 1) if merges else 1


def _side(tree: Mapping[str, Any]) -> Any:
    """The side of the pictures that a model without patches was made for, as it or one of its parts says."""
    parts = [value for value in tree.values() if isinstance(value, Mapping)]
    sides = [first(node.get("image_size") or node.get("resolution")) for node in (tree, *parts)]
    return next((side for side in sides if whole(side)), None)


def first(value: Any) -> Any:
    """The first of a list, else the value."""
    return value[0] if isinstance(value, (list, tuple)) and value else value


def last(value: Any) -> Any:
    """The last of a list, else the value."""
    return value[-1] if isinstance(value, (list, tuple)) and value else value


def shrink_extent(key: str, value: Any, patch: Any, scale: Scale) -> Any:
    """The small value of a picture's side, of a feature map's, or of a count of patches."""
    patch = last(patch)
    if key == "image_grid_pinpoints" and scale.side:
        return [[scale.side, scale.side]]
    if SIDES.fullmatch(key) and whole(value) and whole(patch) and value >= patch:
        return max(patch * 2, int(value // patch // scale.ratio) * patch)
    if (SIDES.fullmatch(key) and key not in UNSURE) or MAPS.fullmatch(key):
        return _scaled(value, scale.ratio)
    if COUNTS.fullmatch(key) and whole(value):
        return max(1, int(value // scale.ratio**2))
    return value


def _scaled(value: Any, ratio: float) -> Any:
    if isinstance(value, (list, tuple)):
        return [_scaled(item, ratio) for item in value]
    return max(1, int(value // ratio)) if whole(value) else value

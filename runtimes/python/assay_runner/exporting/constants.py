"""Inputs that may stand in a graph as constants.

A grid of patches, the size of an image, the length of a recording or a mask that hides nothing say how the other
inputs are laid out. Models loop, split and slice by them, which no graph of fixed shapes can do with a number that is
known only when it runs. For fixed shapes they are part of the recipe as the shapes are, so they can be written into
the graph. What a model looks at (ids, pixels, features) never can.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

import torch

LAYOUT = "layout"
FRAME = "frame"
MASK = "mask"
ALL = frozenset({LAYOUT, FRAME, MASK})
_PICTURED = "pixel|patch|visual|image|video|audio|features?|padding"


@dataclass(frozen=True)
class Companion:
    """Names of inputs that describe other inputs. A mask is one only where every element is one."""

    names: str
    kind: str
    why: str


COMPANIONS = (
    Companion(r"(.*_)?grids?(_\w+)?", LAYOUT, "how many patches an image has"),
    Companion(r"(.*_)?(sizes|shapes|structure)", LAYOUT, "how large each part of the input is"),
    Companion(r"(.*_)?(lens|lengths?|cutoffs|num_\w+|images_per_sample)", LAYOUT, "how long each part is"),
    Companion(r"(.*_)?position_ids|pooled_patches_idx|image_token_pooling|timesteps", LAYOUT, "where each part is"),
    Companion(r"(moe_)?mm_token_type_ids", LAYOUT, "which tokens stand for an image"),
    Companion(rf"(.*_)?({_PICTURED})_(attention_)?masks?(_videos)?", FRAME, "that an image or a sound fills its frame"),
    Companion(r"(.*_)?masks?", MASK, "that nothing is hidden"),
    Companion(r"aspect_ratio_ids", MASK, "that an image has the first form"),
)


def companions(tensors: Mapping[str, torch.Tensor], kinds: frozenset[str]) -> dict[str, torch.Tensor]:
    """Those of the inputs that describe others in one of these ways."""
    return {name: t for name, t in tensors.items() if _kind(name, t) in kinds}


def _kind(name: str, tensor: torch.Tensor) -> str:
    """Only whole numbers and booleans are a layout; a mask may be of ones in any dtype."""
    row = next((row for row in COMPANIONS if re.fullmatch(row.names, name)), None)
    if row is None or (row.kind == LAYOUT and tensor.is_floating_point()):
        return ""
    if row.kind != LAYOUT and not bool((tensor == 1).all()):
        return ""
    return row.kind

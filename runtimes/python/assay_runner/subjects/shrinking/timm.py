"""Miniatures of timm's architectures: the same blocks, narrow and shallow.

A configuration names a timm model, and the model brings its own sizes; timm takes others as
arguments. Where timm has a test model of the same family that one is named instead. Their true
sizes belong to size "full".
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

# Kinds of configuration that name a timm model, and under which name.
KINDS = {"timm_backbone": "backbone", "timm_wrapper": "architecture", "gemma3n_vision": "architecture"}
UNNAMED = "resnet50"  # where the configuration leaves it open: the model of its documentation


@dataclass(frozen=True)
class Miniature:
    """A row: models whose name starts like this become that model with these arguments."""

    family: str
    name: str = ""  # empty: the same model
    arguments: Mapping[str, Any] = field(default_factory=dict)
    values: Mapping[str, Any] = field(default_factory=dict)  # of the configuration, where it repeats a size
    why: str = ""


MINIATURES = (
    Miniature("resnet", "test_resnet", why="timm's own test model"),
    Miniature("swin_", values={"img_size": 64}, why="small pictures; its widths are what others are made for"),
    Miniature(
        "vit_", arguments={"embed_dim": 64, "depth": 2, "num_heads": 4, "img_size": 56},
        why="a plain transformer of two blocks on four by four patches",
    ),
    Miniature(
        "fastvit_mci3", arguments={"embed_dims": [32, 32, 64, 64, 64], "layers": [1, 1, 1, 1, 1]},
        values={"hidden_size": 128}, why="one block per stage; the last expands its width by two",
    ),
    Miniature(
        "mobilenetv5_300m_enc", "mobilenetv5_base", arguments={"channel_multiplier": 0.125, "encoder": True},
        why="the same blocks in the smaller of timm's two, with an eighth of its channels",
    ),
)  # fmt: skip


def shrink(values: Mapping[str, Any]) -> dict[str, Any]:
    """The configuration with its timm model made small; as it is when no row knows the model."""
    key = KINDS[values["model_type"]]
    name = str(values.get(key) or UNNAMED)
    row = next((row for row in MINIATURES if name.startswith(row.family)), None)
    if row is None:
        return dict(values)
    small = {**values, **row.values, key: row.name or name}
    if row.arguments:
        small["model_args"] = {**(values.get("model_args") or {}), **row.arguments}
    return small

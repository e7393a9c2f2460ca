"""The table of rules that make a part of diffusers small. The first row whose pattern matches a name decides.

Names are those of constructors. A number becomes small, a list of numbers each of its
numbers; what no row names keeps its default: patch sizes, latent channels, switches.
The small sizes are those of `shrinking.rules`, so that text encoders and denoisers fit.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from assay_runner.subjects.shrinking.rules import FEEDFORWARD, HEAD, HEADS, WIDTH

GROUPS = 8
CHANNELS = 32
SAMPLE = 32
LAYERS = 2

Shrinker = Callable[[Any], Any]


@dataclass(frozen=True)
class Rule:
    """A row: the names it decides, the small value, and why."""

    names: re.Pattern[str]
    small: Shrinker
    why: str


def most(limit: int) -> Shrinker:
    """Whole numbers above the limit become it; in lists each."""

    def small(value: Any) -> Any:
        if isinstance(value, (list, tuple)):
            return [small(item) for item in value]
        return min(value, limit) if isinstance(value, int) and not isinstance(value, bool) else value

    return small


def stages(value: Any) -> Any:
    """The widths of a ladder of stages: narrow at the first, twice that from there on."""
    if not isinstance(value, (list, tuple)):
        return most(CHANNELS)(value)
    return [CHANNELS] + [2 * CHANNELS] * (len(value) - 1)


def axes(value: Any) -> Any:
    """The parts of a small head that turn with each axis: even, in their proportions, none empty."""
    if not isinstance(value, (list, tuple)):
        return value
    small = [max(2, part * HEAD // sum(value) // 2 * 2) for part in value]
    small[0] += HEAD - sum(small)
    return small


def row(names: str, small: Shrinker, why: str) -> Rule:
    """One row of the table."""
    return Rule(re.compile(names), small, why)


RULES: tuple[Rule, ...] = (
    row(r"(\w+_)?layers_per_block|num_res_blocks|(\w+_)?layers_per_mid_block|mid_block_layers", most(1),
        "one layer in each stage"),
    row(r"(\w+_)?(num_(\w+_)?layers|n_(\w+_)?layers|depth|num_blocks|layers)", most(LAYERS), "two layers of each kind"),
    row(r"(\w+_)?(block_out_channels|channels_per_block|down_block_channels)", stages, "narrow stages"),
    row(r"(\w+_)?norm_num_groups|groups|norm_groups", most(GROUPS), "groups of several channels each"),
    row(r"base_dim|decoder_base_dim", most(HEAD), "narrow stages, which widen by their own factors"),
    row(r"axes_dims?(_rope)?|rope_axes_dims?|axes_dims", axes, "the axes share a small head"),
    row(r"(num_|n_)(\w+_)?heads|num_heads|heads", most(HEADS), "a few heads"),
    row(r"(\w+_)?(head_dim|dim_head)", most(HEAD), "heads times head size is the width"),
    row(r"(\w+_)?(ffn_dim|ff_dim|intermediate_size|mlp_dim|multiple_of|approximator_hidden_dim)", most(FEEDFORWARD),
        "twice the width"),
    row(r"(\w+_)?(dim|caption_channels|hidden_size)|cross_attention_dim_t5", most(WIDTH),
        "the width of the small text encoders"),
    row(r"sample_size|sample_height|sample_width", most(SAMPLE), "small pictures"),
    row(r"sample_frames|video_length|num_frames", most(5), "a few frames"),
    row(r"pos_embed_max_size", most(SAMPLE), "positions for small pictures"),
)  # fmt: skip


def rule_for(name: str) -> Rule | None:
    """The row that decides values of this name."""
    return next((rule for rule in RULES if rule.names.fullmatch(name)), None)


def shrink(values: dict[str, Any]) -> dict[str, Any]:
    """The constructor's values made small. Tuples become lists, as JSON has them."""
    return {name: plain(_small(name, value)) for name, value in one_of_each(values).items()}


def one_of_each(values: dict[str, Any]) -> dict[str, Any]:
    """The values with one stage of each kind, where a network has several kinds of stages.

    Stages that are all alike stay: how often they halve a picture is known to the code around them.
    """
    kinds = values.get("down_block_types")
    if not isinstance(kinds, (list, tuple)) or len(set(kinds)) < 2:
        return values
    return {name: _chosen(name, value, len(kinds), len(set(kinds))) for name, value in values.items()}


def _chosen(name: str, value: Any, stages: int, kinds: int) -> Any:
    if not isinstance(value, (list, tuple)) or len(value) != stages:
        return value
    return list(dict.fromkeys(value)) if name.endswith("_block_types") else list(value)[:kinds]


def _small(name: str, value: Any) -> Any:
    rule = rule_for(name)
    return rule.small(value) if rule and value is not None else value


def plain(value: Any) -> Any:
    """Tuples as lists, as JSON has them."""
    return [plain(item) for item in value] if isinstance(value, (list, tuple)) else value

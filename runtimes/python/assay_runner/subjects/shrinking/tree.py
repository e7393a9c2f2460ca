"""Walks a configuration and its sub-configurations and makes each of them small."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from . import absent, images, ladder, layers, relations, timm
from .layers import Stack, whole, wholes
from .rules import WIDTH, Node, counts_heads, small_fraction, small_number
from .tokens import TokenIds, is_token

# Not part of what a model is: labels, where it came from, how it is stored. They are made again from the small values.
LEFT_OUT = frozenset(
    "id2label label2id num_labels transformers_version architectures _name_or_path stage_names out_features dtype "
    "torch_dtype problem_type _attn_implementation_internal".split()
)
# A name that another name in the same configuration derives.
DERIVED = {
    "feature_size": "lags_sequence",
    "stage_block_stride": "stage_num_blocks",
    "stage_block_in_channels": "stage_num_blocks",
    "stage_block_out_channels": "stage_num_blocks",
    "dim_bbox_sinusoid_emb_2d": "hidden_size",
    "dim_bbox_sinusoid_emb_1d": "hidden_size",
    "dim_bbox_projection": "hidden_size",
    "attention_hidden_size": "n_mamba_heads",
    "attention_head_dim": "n_mamba_heads",
}
# Lists that repeat one width, a number for each map of features.
WIDTH_LISTS = frozenset({"decoder_in_channels", "vision_features_channels"})
CONVOLUTION = 32  # channels of a small feature extractor
# The width of what is remembered of a frame. Code fixes it to the small width, and pointers are cut to fit into it.
MEMORY = "memory_encoder_output_channels"


@dataclass
class Walk:
    """What one walk keeps across the whole tree."""

    aspects: frozenset[str]
    tokens: TokenIds
    scale: images.Scale | None
    width: int = WIDTH


def shrink(config: Mapping[str, Any], rung: ladder.Rung) -> dict[str, Any]:
    """The configuration made small on this rung of the ladder. The argument is left alone."""
    if not rung.aspects:
        return {}
    scale = images.scale_of(config) if ladder.EXTENTS in rung.aspects else None
    small = _node(config, Walk(rung.aspects, TokenIds(), scale, _width(config)))
    small.pop("model_type", None)
    return small


def _width(config: Mapping[Any, Any]) -> int:
    """The small width of a tree: twice the usual one where it must be more than that of a memory."""
    inner = [_width(value) for value in config.values() if isinstance(value, Mapping)]
    return 2 * WIDTH if MEMORY in config else max(inner, default=WIDTH)


def _node(config: Mapping[Any, Any], walk: Walk) -> dict[Any, Any]:
    values = {k: v for k, v in config.items() if isinstance(k, str) and k not in LEFT_OUT}
    values = {k: v for k, v in values.items() if DERIVED.get(k) not in values}
    if values.get("model_type") in timm.KINDS:
        return timm.shrink(values) if ladder.WIDTHS in walk.aspects else values
    stack = layers.plan(values)
    node = Node(values, stack.hierarchical, _heads(values), walk.width)
    small = {key: _value(key, value, node, stack, walk) for key, value in values.items()}
    small.update({key: value for key, value in config.items() if not isinstance(key, str)})
    if ladder.WIDTHS in walk.aspects and not stack.hierarchical:
        relations.repair(small, values)
    return small


def _heads(values: Mapping[str, Any]) -> frozenset[int]:
    return frozenset(value for key, value in values.items() if whole(value) and counts_heads(key))


def _value(key: str, value: Any, node: Node, stack: Stack, walk: Walk) -> Any:
    small = _by_kind(key, value, node, stack, walk)
    if walk.scale and small == value:
        return images.shrink_extent(key, value, node.values.get("patch_size"), walk.scale)
    return small


def _by_kind(key: str, value: Any, node: Node, stack: Stack, walk: Walk) -> Any:
    if isinstance(value, Mapping):
        return dict(value) if "rope" in key else _mapping(key, value, stack, walk)
    if value is None:
        return absent.fill(key, node.values, walk.aspects, stack, walk.tokens)
    if isinstance(value, (list, tuple)):
        return _list(key, list(value), node, stack, walk)
    if isinstance(value, float):
        return small_fraction(key, value, walk.aspects)
    return _number(key, value, node, stack, walk) if whole(value) else value


def _mapping(key: str, value: Mapping[Any, Any], stack: Stack, walk: Walk) -> dict[Any, Any]:
    """A sub-configuration, or a table of settings for single layers of which the chosen ones stay."""
    if key != "per_layer_config":
        return _node(value, walk)
    chosen = stack.chosen if stack.chosen is not None else range(stack.keep)
    kept = [(new, value.get(old, value.get(str(old)))) for new, old in enumerate(chosen)]
    kept = [(new, item) for new, item in kept if item is not None]
    return {new: _node(item, walk) if isinstance(item, Mapping) else item for new, item in kept}


def _list(key: str, value: list[Any], node: Node, stack: Stack, walk: Walk) -> list[Any]:
    if value and all(isinstance(item, Mapping) for item in value):
        return [_node(item, walk) for item in value]
    if ladder.LAYERS in walk.aspects:
        small = layers.shrink_lists(key, value, stack)
        if small != value:
            return small
    if not wholes(value):
        return value
    if is_token(key) and ladder.WORDS in walk.aspects:
        return walk.tokens.several(value)
    if key == "conv_dim" and len(set(value)) == 1 and ladder.WIDTHS in walk.aspects and not stack.hierarchical:
        return [CONVOLUTION] * len(value)
    if key in WIDTH_LISTS and len(set(value)) == 1 and ladder.WIDTHS in walk.aspects:
        return [WIDTH] * len(value)
    if key == "attention_window" and ladder.WORDS in walk.aspects:
        return [small_number(key, item, walk.aspects, node) for item in value[: stack.keep]]
    return value


def _number(key: str, value: int, node: Node, stack: Stack, walk: Walk) -> int:
    if key in stack.depths:
        return min(value, stack.keep) if ladder.LAYERS in walk.aspects else value
    if layers.FEATURE_LAYERS.fullmatch(key) and ladder.LAYERS in walk.aspects:
        return layers.shrink_lists(key, value, stack)
    if is_token(key) and ladder.WORDS in walk.aspects:
        return walk.tokens.small(value)
    return small_number(key, value, walk.aspects, node)

"""Which layers stay: two, or one of every kind that per-layer lists name."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

LEAST, MOST = 2, 6

# Names that count layers. Convolution, feature, residual and adapter layers are structure, not depth.
DEPTH = re.compile(
    r"num_hidden_layers|num_layers|n_layers?|layers|depth|num_blocks|num_hidden_blocks|n_blocks|(\w+_)?(en|de)coder_layers"
    r"|num_(?!conv_|feat_extract|residual|nextn|adapter|kv_shared)(\w+_)?layers|\w+_num_hidden_layers|\w+_num_layers"
    r"|(?!\w*head_depth)\w+_depth|(en|de)coder_n_layer"
)
STAGES = ("depths", "layer_depths", "num_block_repeats", "stage_num_blocks", "encoder_blocks", "blocks_per_stage")
STAGE_LISTS = (
    "depths",
    "num_heads",
    "hidden_sizes",
    "embed_dims",
    "num_attention_heads",
    "layer_depths",
    "embed_dim",
    "embed_dim_per_stage",
    "stage_num_blocks",
)
# Lists of positions in the stack: they must point into it.
POSITIONS = re.compile(
    r"\w*(indexes|indices|_index(?!_)|layer_ids?|_layers_idx|_layer_idx|block_index|fullatt|global_attn|skip_layer"
    r"|mlp_only_layers|cross_attention_layers|look_ahead_layers|look_backward_layers|feature_layers?|_idxs)\w*"
)
# Layers whose features a neck takes: as many as before, so at least as many layers stay. Some count the embedding as 0.
TAPS = {"out_indices": 1, "backbone_out_indices": 0}
FEATURE_LAYERS = re.compile(r"\w*(feature_layers?|select_layer)")


def whole(value: Any) -> bool:
    """Whether a value is a whole number; True and False are not."""
    return isinstance(value, int) and not isinstance(value, bool)


def wholes(value: Any) -> bool:
    """Whether a value is a list of whole numbers that holds any."""
    return isinstance(value, (list, tuple)) and bool(value) and all(whole(item) for item in value)


@dataclass
class Stack:
    """The layers of one configuration: how many stay, and which of the default's."""

    keep: int = LEAST
    chosen: list[int] | None = None  # indices into the default's per-layer lists
    depths: dict[str, int] = field(default_factory=dict)
    per_layer: frozenset[str] = frozenset()
    hierarchical: bool = False

    @property
    def count(self) -> int | None:
        """How many layers the small configuration has; None when it counts none."""
        return min([*self.depths.values(), self.keep]) if self.depths else None


def plan(values: dict[str, Any]) -> Stack:
    """Decides which layers stay."""
    hierarchical = any(isinstance(values.get(key), (list, tuple)) and len(values[key]) > 1 for key in STAGE_LISTS)
    stages = max((len(values[key]) for key in STAGE_LISTS if isinstance(values.get(key), (list, tuple))), default=0)
    depths = {
        key: value
        for key, value in values.items()
        if whole(value) and value > 0 and DEPTH.fullmatch(key) and not (hierarchical and value == stages)
    }
    stack = Stack(depths=depths, hierarchical=hierarchical)
    stack.per_layer = frozenset(key for key, value in values.items() if _is_per_layer(key, value, depths))
    if stack.per_layer:
        stack.chosen = _one_of_each([values[key] for key in sorted(stack.per_layer)])
        stack.keep = len(stack.chosen)
    taps = max((len(values[key]) for key in TAPS if isinstance(values.get(key), (list, tuple))), default=0)
    if depths and not hierarchical and taps > stack.keep:
        stack.keep = taps
        stack.chosen = list(range(stack.keep)) if stack.chosen is not None else None
    return stack


def _is_per_layer(key: str, value: Any, depths: dict[str, int]) -> bool:
    listed = isinstance(value, (list, tuple)) and len(value) > LEAST and len(value) in depths.values()
    return listed and key != "depths" and not POSITIONS.fullmatch(key)


def _one_of_each(lists: list[list[Any]]) -> list[int]:
    """The first layer of every kind, in order, and at least two. Words and switches tell kinds apart."""
    length = len(lists[0])
    same = [items for items in lists if len(items) == length]
    kinds = [tuple(repr(x[i]) if isinstance(x[i], (str, bool)) else "" for x in same) for i in range(length)]
    first = [i for i in range(length) if kinds.index(kinds[i]) == i]
    more = [i for i in range(length) if i not in first]
    return sorted(first + more[: max(0, LEAST - len(first))])[:MOST]


def shrink_lists(key: str, value: Any, stack: Stack) -> Any:
    """The small value of a list that speaks of layers; the list itself when it does not."""
    if key in stack.per_layer and stack.chosen is not None:
        return [value[i] for i in stack.chosen if i < len(value)]
    if key in STAGES and wholes(value):
        return [min(depth, 1) for depth in value]
    if FEATURE_LAYERS.fullmatch(key):
        return _feature_layers(value)
    if POSITIONS.fullmatch(key) and wholes(value) and stack.depths and not stack.hierarchical:
        n = stack.count or LEAST
        if key in TAPS:
            return list(range(n - len(value) + TAPS[key], n + TAPS[key]))
        return list(dict.fromkeys(max(-n, min(item, n - 1)) for item in value))
    return value


def _feature_layers(value: Any) -> Any:
    """Features come from the last layer, or from layers that two layers have."""
    if whole(value):
        return -1
    return [min(x, 1) if x >= 0 else max(x, -2) for x in value] if wholes(value) else value

"""Values that a default configuration leaves open (None) and a model needs."""

from __future__ import annotations

import re
from typing import Any

from . import ladder
from .layers import LEAST, Stack
from .rules import CHOSEN, EXPERTS, FEEDFORWARD, HEAD, HEADS, VOCABULARY, WINDOW, rule_for
from .tokens import TokenIds

PLACEHOLDER = re.compile(r"(image|video|audio)_token_(id|index)")

# Always given, whatever the rung: the model cannot be made without them.
NEEDED = {
    "num_experts_per_tok": CHOSEN,
    "n_routed_experts": EXPERTS,
    "num_experts": EXPERTS,
    "n_shared_experts": 1,
    "vocab_size": VOCABULARY,
    "prediction_length": 16,
    "top_k_experts": CHOSEN,
    "moe_intermediate_size": FEEDFORWARD,
    "pad_token_id": 0,
    "attn_layer_indices": [1],
    "clip_qkv": 8.0,
    "indexer_n_heads": 2,
    "indexer_kv_heads": 1,
    "indexer_head_dim": HEAD,
    "indexer_budget": 8,
    "indexer_compress_ratio": 4,
}
# Given where widths are small: the default's own rule would divide the old width.
NARROW = {"head_dim": HEAD, "num_key_value_heads": HEADS}


def fill(key: str, values: dict[str, Any], aspects: frozenset[str], stack: Stack, tokens: TokenIds) -> Any:
    """The value for a name whose default is None; None when it may stay open."""
    if not aspects:
        return None
    narrow = ladder.WIDTHS in aspects and not stack.hierarchical
    if narrow and key in NARROW:
        return NARROW[key]
    if key in NEEDED:
        return NEEDED[key]
    if PLACEHOLDER.fullmatch(key):
        return tokens.fresh(key)
    if key == "layer_types" and stack.depths:
        return ["full_attention"] * stack.keep
    if key == "mlp_layer_types" and stack.depths:
        return ["dense", "sparse"][: max(stack.keep, LEAST)]
    if key == "sliding_window" and "sliding_attention" in str(values.get("layer_types")):
        return WINDOW
    if ladder.OPEN in aspects and narrow:
        rule = rule_for(key)
        return rule.usual if rule else None
    return None

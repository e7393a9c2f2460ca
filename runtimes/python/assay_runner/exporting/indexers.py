"""Indexers that choose blocks of visible tokens, query by query.

Such an indexer packs the tokens that a query may see into blocks, takes the mean of the keys of each, and lets
attention see those of the best blocks, and what is left over at the end. How many there are is known only when the
model runs, and the library goes through queries in loops. Inside `at_once` all are computed together: as many blocks as
there could be, with the tokens of a block counted among those that are visible.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import torch

from assay_runner.exporting.following import known
from assay_runner.subjects.replacing import replaced

_PARTS = ("index_qk_proj", "q_layernorm", "k_layernorm", "compress_ratio", "block_topk", "index_head_dim")
_ROTATE = "apply_rotary_pos_emb"
T = torch.Tensor


@contextmanager
def at_once(model: torch.nn.Module) -> Iterator[None]:
    """Inside, indexers whose mask is traced ask nothing query by query."""
    with ExitStack() as stack:
        for module in model.modules():
            if all(hasattr(module, name) for name in _PARTS):
                stack.enter_context(replaced(module, "forward", functools.partial(_together, module)))
        yield


def _together(module: torch.nn.Module, own: Callable[..., Any]) -> Callable[..., Any]:
    def forward(hidden_states: T, position_embeddings: tuple[T, T], attention_mask: T, past_key_values: Any) -> T:
        if known(attention_mask) or attention_mask.shape[-1] < module.compress_ratio:
            return own(hidden_states, position_embeddings, attention_mask, past_key_values)
        batch, length = hidden_states.shape[:2]
        heads = module.index_qk_proj(hidden_states).reshape(batch, length, -1, module.index_head_dim)
        queries, keys = heads[:, :, : module.index_n_heads], heads[:, :, module.index_n_heads :].squeeze(2)
        rotate = getattr(sys.modules[type(module).__module__], _ROTATE)
        cos, sin = position_embeddings
        queries = module.q_layernorm(queries)
        queries = rotate(queries, cos=cos[:, -length:], sin=sin[:, -length:], unsqueeze_dim=2)
        if past_key_values is not None:
            keys = past_key_values.update_indexer(keys, module.layer_idx)
        numbers = attention_mask.is_floating_point()
        visible = (attention_mask == 0 if numbers else attention_mask)[:, 0].expand(batch, length, -1)
        seen = _selected(module, rotate, queries, keys, visible, cos, sin)[:, None]
        if not numbers:
            return seen
        return torch.where(seen, attention_mask.new_zeros(()), torch.finfo(attention_mask.dtype).min)

    return forward


def _selected(module: Any, rotate: Callable[..., T], queries: T, keys: T, visible: T, cos: T, sin: T) -> T:
    """Which tokens each query sees: by batch, query and token."""
    size, tokens = module.compress_ratio, visible.shape[-1]
    rank = visible.to(torch.int64).cumsum(-1) - 1
    complete = visible.to(torch.int64).sum(-1, keepdim=True) // size
    blocks = torch.arange(tokens // size)
    inside = visible[..., None, :] & (rank[..., None, :] // size == blocks[:, None])
    starts = (inside & (rank[..., None, :] % size == 0)).to(torch.int64)
    first = (starts * torch.arange(tokens)).sum(-1)
    rows = torch.arange(keys.shape[0])[:, None, None]
    pooled = (inside.to(torch.float32) @ keys.float()[:, None] / size).to(keys.dtype)
    pooled = module.k_layernorm(pooled)[..., None, :]
    pooled = rotate(pooled, cos=cos[rows, first], sin=sin[rows, first], unsqueeze_dim=3)[..., 0, :]
    scores = torch.relu(queries.float() @ pooled.float().transpose(-1, -2)).sum(-2)
    whole = blocks < complete
    best = torch.where(whole, scores, -torch.inf).topk(min(module.block_topk, len(blocks)), dim=-1).indices
    chosen = (best[..., None] == blocks).any(-2) & whole
    return (inside & chosen[..., None]).any(-2) | (visible & (rank >= complete * size))

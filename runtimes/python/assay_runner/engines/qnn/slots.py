"""The forward of a language model with a cache of a fixed size, written by place."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from transformers.cache_utils import Cache, DynamicLayer

from assay_runner.engines.qnn.greedy import ASKED, HIDDEN, PAST
from assay_runner.subjects.generation import LOGITS
from assay_runner.subjects.outputs import Tensors

KEYS, VALUES = "keys_", "values_"

_FULL, _SLIDING = "full_attention", "sliding_attention"

Place = Callable[[torch.Tensor], torch.Tensor]
"""Puts the states of new tokens to their places in the length of the cache, and zeros to all others."""


class Places(DynamicLayer):
    """The cache of one layer. What is new is added where zeros stand."""

    def __init__(self, place: Place, keys: torch.Tensor | None = None, values: torch.Tensor | None = None) -> None:
        super().__init__()
        self._place, self._past = place, (keys, values)

    def update(
        self, key_states: torch.Tensor, value_states: torch.Tensor, *args: Any, **kwargs: Any
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """All keys and values, the new ones at their places."""
        new = (self._place(key_states), self._place(value_states))
        self.keys, self.values = (n if past is None else past + n for past, n in zip(self._past, new, strict=True))
        return self.keys, self.values

    def get_seq_length(self) -> int:
        """None: which tokens are seen is said by the mask, and where they stand by their positions."""
        return 0


def reading(model: torch.nn.Module, places: int) -> Callable[..., Tensors]:
    """A forward that reads a prompt into a cache with this many places."""
    own = model.forward

    def place(states: torch.Tensor) -> torch.Tensor:
        return torch.nn.functional.pad(states, (0, 0, 0, places - states.shape[-2]))

    def forward(**given: torch.Tensor) -> Tensors:
        cache = Cache(layers=[Places(place) for _ in range(_layers(model))])
        return _called(model, own, given, cache)

    return forward


def adding(model: torch.nn.Module) -> Callable[..., Tensors]:
    """A forward that reads one token more, at its slot."""
    own = model.forward

    def forward(slot: torch.Tensor, **given: torch.Tensor) -> Tensors:
        past = {name: given.pop(name) for name in list(given) if name.startswith(PAST)}
        pairs = ((past[f"{PAST}{KEYS}{i}"], past[f"{PAST}{VALUES}{i}"]) for i in range(_layers(model)))
        return _called(model, own, given, Cache(layers=[Places(lambda states: states * slot, *pair) for pair in pairs]))

    return forward


def _layers(model: torch.nn.Module) -> int:
    return model.config.get_text_config(decoder=True).num_hidden_layers


def _masks(
    model: torch.nn.Module, visible: torch.Tensor, places: torch.Tensor
) -> torch.Tensor | dict[str, torch.Tensor]:
    """What attention adds to its scores: one mask for all layers, or one for each kind that a model has. In a layer
    with a sliding window what lies further back is hidden too."""
    config = model.config.get_text_config(decoder=True)
    window, kinds = getattr(config, "sliding_window", None), getattr(config, "layer_types", None)
    if not window or (kinds and _SLIDING not in kinds):
        return visible
    near = torch.arange(visible.shape[-1]) > places[:, None, :, None] - window
    close = torch.where(near, visible, float(HIDDEN))
    return {_FULL: visible, _SLIDING: close} if kinds else close


def _called(model: torch.nn.Module, own: Callable[..., Any], given: Tensors, cache: Cache) -> Tensors:
    """The logits of the last token and the cache, by names."""
    logits = own(
        **{name: t for name, t in given.items() if name not in ASKED},
        input_ids=given["input_ids"],
        attention_mask=_masks(model, given["visible"], given["places"]),
        position_ids=given["places"],
        past_key_values=cache,
        use_cache=True,
    ).logits[:, -1]
    kept = {}
    for i, layer in enumerate(cache.layers):
        kept |= {f"{KEYS}{i}": layer.keys, f"{VALUES}{i}": layer.values}
    return {LOGITS: logits, **kept}

"""Takes a model with an encoder and a decoder apart for generation: what is computed once, and what for each token.

`Encoding` is everything that stays the same while a text grows: the ids that it begins with, what the encoder gives,
and the keys and values that cross-attention makes of it. `Decoding` takes new ids after any number of past ones; past
keys and values of self-attention go through it, everything of the encoding is read. Which calls a model makes is seen
in a generation of its own, so that no model needs a description here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
from transformers import DynamicCache, EncoderDecoderCache, PreTrainedModel

from assay_runner.errors import ExportFailed
from assay_runner.subjects.generation import PROMPT
from assay_runner.subjects.outputs import Tensors
from assay_runner.subjects.wrapping import Wrapped

IDS, PAST = "decoder_input_ids", "past_key_values"
ENCODED, CROSS = "encoder_outputs", "cross_attention"  # before the names of what decoding reads of the encoding
_DROPPED = ("logits_to_keep", "cache_position")  # how much is wanted of the first call, and what follows from the past


@dataclass(frozen=True)
class Parts:
    """Both parts, and what they are traced with."""

    encoding: Encoding
    encoded: Tensors  # what it gives for the inputs that were given
    decoding: Decoding
    step: Mapping[str, Any]  # inputs of the decoding: ids, past and what it reads of the encoding


class Encoding(Wrapped):
    """What is computed once."""

    def __init__(self, model: PreTrainedModel, begin: torch.Tensor) -> None:
        super().__init__(model)
        self.register_buffer("begin", begin, persistent=False)  # ids that a generation puts before those given

    def forward(self, **given: torch.Tensor) -> Tensors:
        """The prompt, and by name what the decoding reads."""
        return self.called(given)[1]

    def called(self, given: Mapping[str, torch.Tensor]) -> tuple[Any, Tensors]:
        """What the model gives for the prompt, and what the decoding reads."""
        prompt = torch.cat([self.begin, given[IDS]], 1) if IDS in given else self.begin
        seen: list[Any] = []
        hook = self.model.get_encoder().register_forward_hook(lambda _module, _args, out: seen.append(out))
        try:
            out = self.model(**{**given, IDS: prompt}, use_cache=True, return_dict=True)
        finally:
            hook.remove()
        return out, {PROMPT: prompt, **_tensors(seen[0]), **_cross(out.past_key_values)}


class Decoding(Wrapped):
    """What is computed for each token."""

    def __init__(self, model: PreTrainedModel, call: Mapping[str, Any], encoded: type) -> None:
        super().__init__(model)
        self.call, self.encoded = dict(call), encoded

    def forward(self, **given: Any) -> dict[str, Any]:
        """Logits, and the past with the new ids in it."""
        fields = {_bare(name, ENCODED): t for name, t in given.items() if name.startswith(ENCODED)}
        cross = [t for name, t in given.items() if name.startswith(CROSS)]
        plain = {name: t for name, t in given.items() if not name.startswith((ENCODED, CROSS, PAST))}
        past = EncoderDecoderCache(given[PAST], DynamicCache(list(zip(cross[::2], cross[1::2], strict=True))))
        out = self.model(
            **self.call, **plain, encoder_outputs=self.encoded(**fields), past_key_values=past, use_cache=True
        )
        return {"logits": out.logits, PAST: out.past_key_values.self_attention_cache}


def parts(model: PreTrainedModel, tensors: Mapping[str, torch.Tensor]) -> Parts:
    """The parts of a model for one input, as its own `generate` calls it."""
    from transformers.exporters.utils import decompose_prefill_decode

    calls = decompose_prefill_decode(model, dict(tensors))
    first, later = calls["prefill"][1], calls["decode"][1]
    encoding = Encoding(model, _begin(first[IDS], tensors.get(IDS)))
    with torch.no_grad():
        encoded = encoding(**tensors)
    given = {name: value for name, value in later.items() if isinstance(value, torch.Tensor) and name != IDS}
    for name, value in given.items():
        if name not in tensors or not torch.equal(value, tensors[name]):
            raise ExportFailed(f"each step of this generation reads a different {name}, which is not supported")
    fixed = {name: value for name, value in later.items() if isinstance(value, (bool, str, int))}
    call = {name: value for name, value in fixed.items() if name not in (*_DROPPED, "use_cache")}
    step = {
        IDS: torch.cat([later[IDS]] * 2, 1),  # more than one, or a tracer would take one for all there ever is
        **given,
        PAST: later[PAST].self_attention_cache,
        **{name: value for name, value in encoded.items() if name != PROMPT},
    }
    return Parts(encoding, encoded, Decoding(model, call, type(later[ENCODED])), step)


def _begin(prompt: torch.Tensor, given: torch.Tensor | None) -> torch.Tensor:
    """The ids that stand before the given ones in the first call."""
    if prompt.ndim != 2:
        raise ExportFailed("this model continues several streams of ids at once, which is not supported")
    return prompt if given is None else prompt[:, : prompt.shape[1] - given.shape[1]]


def _tensors(encoded: Mapping[str, Any]) -> Tensors:
    return {f"{ENCODED}_{name}": t for name, t in encoded.items() if isinstance(t, torch.Tensor)}


def _cross(past: EncoderDecoderCache) -> Tensors:
    """Keys and values of each layer, in turns."""
    layers = enumerate(past.cross_attention_cache.layers)
    return {f"{CROSS}_{i}_{what}": getattr(layer, what) for i, layer in layers for what in ("keys", "values")}


def _bare(name: str, prefix: str) -> str:
    return name.removeprefix(f"{prefix}_")

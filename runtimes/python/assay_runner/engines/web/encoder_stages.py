"""The two stages of a model with an encoder and a decoder (`cached`).

With the prompt goes all that stays the same while the text grows: the encoder, and the keys and values that
cross-attention makes of what it gives (`encoder_decoder`). Of the decoder's own past, slots are filled from the left,
and a token is written to where it stands: positions of every kind, learned, counted or relative, follow from its place.
"""

from __future__ import annotations

from collections.abc import Mapping
from inspect import signature
from typing import Any

import torch
from transformers import DynamicCache, EncoderDecoderCache, PreTrainedModel
from transformers.cache_utils import Cache, DynamicLayer

from assay_runner.engines.web.stages import LOGITS, PAST, PLACE, TOKEN, Stages, first, named, past, ran
from assay_runner.errors import ExportFailed
from assay_runner.exporting import constants, encoder_decoder
from assay_runner.exporting.encoder_decoder import CROSS, ENCODED, IDS, Encoding
from assay_runner.subjects.generation import PROMPT
from assay_runner.subjects.outputs import Tensors
from assay_runner.subjects.wrapping import Wrapped

_MASK, _POSITIONS = "decoder_attention_mask", "decoder_position_ids"
"""What a decoder is told where it can be: that no slot is padding (the empty ones lie ahead of the token), and where
the token stands. What it is not told it counts itself, some by the shapes of a trace."""

_COMPOSED = dict.fromkeys(("encoder-decoder", "vision-encoder-decoder", "speech-encoder-decoder"), (_MASK, _POSITIONS))
"""Types that hand on to any decoder what begins with its name → what those take."""

_FIXED = frozenset({constants.MASK, constants.FRAME, constants.LAYOUT})


class Slots(DynamicLayer):
    """The past of one layer of the decoder, of a fixed length. A token is written to its place."""

    is_compileable = True  # its masks say which slots are empty, also where one token is all there is

    def __init__(self, place: torch.Tensor, keys: torch.Tensor, values: torch.Tensor) -> None:
        super().__init__()
        self.keys, self.values, self._place = keys, values, place
        self.is_initialized = True

    def update(
        self, key_states: torch.Tensor, value_states: torch.Tensor, *_args: Any, **_kwargs: Any
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """All keys and values, the new ones at their place."""
        here = (torch.arange(self.keys.shape[2]) == self._place).view(1, 1, -1, 1)
        self.keys = torch.where(here, key_states, self.keys)
        self.values = torch.where(here, value_states, self.values)
        return self.keys, self.values

    def get_seq_length(self) -> torch.Tensor:
        """How many tokens stand before."""
        return self._place

    def get_mask_sizes(self, query_length: int) -> tuple[int, int]:
        """A mask is over all slots."""
        return self.keys.shape[2], 0


class Opening(Encoding):
    """What is computed once: the encoding, and the decoder's first call."""

    def __init__(self, model: PreTrainedModel, begin: torch.Tensor, slots: int) -> None:
        super().__init__(model, begin)
        self._slots = slots

    def forward(self, **given: torch.Tensor) -> Tensors:
        """The logits after the prompt, the past with the prompt in its first slots, and what every step reads."""
        out, kept = self.called(given)
        own = {n: self._padded(t) for n, t in named(out.past_key_values.self_attention_cache.layers).items()}
        return {LOGITS: out.logits[:, -1], **own, **{n: t for n, t in kept.items() if n != PROMPT}}

    def _padded(self, tensor: torch.Tensor) -> torch.Tensor:
        return torch.nn.functional.pad(tensor, (0, 0, 0, self._slots - tensor.shape[2]))


class Token(Wrapped):
    """What is computed for each token."""

    def __init__(self, model: PreTrainedModel, call: Mapping[str, Any], encoded: type) -> None:
        super().__init__(model)
        self._call, self._encoded = dict(call), encoded
        self._told = _COMPOSED.get(model.config.model_type) or signature(model.forward).parameters

    def forward(self, **given: torch.Tensor) -> Tensors:
        """The logits after the token, and the past with it."""
        pairs = _pairs(given, PAST)
        own = Cache(layers=[Slots(given[PLACE][0, 0], *pair) for pair in pairs])
        told = {_MASK: torch.ones(len(given[TOKEN]), pairs[0][0].shape[2]), _POSITIONS: given[PLACE]}
        fields = {name.removeprefix(f"{ENCODED}_"): t for name, t in given.items() if name.startswith(ENCODED)}
        out = self.model(
            **self._call,
            **{name: value for name, value in told.items() if name in self._told},
            decoder_input_ids=given[TOKEN],
            encoder_outputs=self._encoded(**fields),
            past_key_values=EncoderDecoderCache(own, DynamicCache(_pairs(given, CROSS))),
            use_cache=True,
        )
        return {LOGITS: out.logits[:, -1], **named(own.layers)}


def _pairs(given: Mapping[str, torch.Tensor], prefix: str) -> list[tuple[torch.Tensor, torch.Tensor]]:
    """Keys and values of each layer."""
    kept = [t for name, t in given.items() if name.startswith(prefix)]
    return list(zip(kept[::2], kept[1::2], strict=True))


def of_encoder(model: PreTrainedModel, tensors: Mapping[str, torch.Tensor], new: int) -> Stages:
    """The stages of a model that writes this many tokens from what its encoder reads."""
    if getattr(model.config.get_text_config(decoder=True), "sliding_window", None):
        raise ExportFailed("a decoder that keeps a window of its past has no place for every token: it is not written")
    parts = encoder_decoder.parts(model, tensors)
    length = parts.encoded[PROMPT].shape[1]
    opening = Opening(model, parts.encoding.begin, length + new)
    opened = ran(opening, tensors)
    read = {n: t for n, t in opened.items() if n.startswith((CROSS, ENCODED))}
    own = {n: t for n, t in first(opened, new).items() if n in (TOKEN, PLACE)}
    step = Token(model, {**parts.decoding.call, **_described(parts.step)}, parts.decoding.encoded)
    return Stages(opening, tensors, opened, step, own | past(opened) | read)


def _described(step: Mapping[str, Any]) -> dict[str, torch.Tensor]:
    """The model's inputs that each step reads again: they only describe the others, and are known."""
    given = {n: t for n, t in step.items() if isinstance(t, torch.Tensor) and not n.startswith((CROSS, ENCODED, IDS))}
    fixed = constants.companions(given, _FIXED)
    if more := set(given) - set(fixed):
        raise ExportFailed(f"each step of this generation reads {', '.join(sorted(more))}, which does not fit here")
    return fixed

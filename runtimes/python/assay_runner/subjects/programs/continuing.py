"""The program `continue`: a language model that continues its prompt by a fixed number of tokens, greedily.

It is what the mode `generate` of a cell makes of a plain recipe. The model's own `generate` runs with its cache, with
one of a fixed size, or without any; the end of a text is switched off, and nothing is compiled. Tokens are stamped as
the library hands them out: their ids are on the host by then, so the device was awaited.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

import torch
from transformers import LogitsProcessor, LogitsProcessorList, PreTrainedModel
from transformers.generation.streamers import BaseStreamer

from assay_runner.errors import Unsuited
from assay_runner.subjects import models
from assay_runner.subjects.generation import CACHE, IDS, LOGITS, NEW_TOKENS, TOKENS, prompted
from assay_runner.subjects.streams import Clock
from assay_runner.subjects.wrapping import Wrapped

Recipe = Mapping[str, Any]

DYNAMIC, STATIC, OFF = "dynamic", "static", "off"


class Continuation(Wrapped):
    """A model whose forward continues a text."""

    weights_inside = "model."  # drawn by the names that they have in the model itself

    def __init__(self, model: PreTrainedModel, new_tokens: int = NEW_TOKENS, cache: str = DYNAMIC) -> None:
        super().__init__(model)
        # As its own: what a configuration leaves open that is given with a call is filled in from the model's.
        model.generation_config = _fixed(model, new_tokens, cache)
        self._new = new_tokens
        self.clock = Clock()
        self._prompt = (0, 0)
        self.whole: torch.Tensor | None = None  # the last text, its prompt included

    def forward(self, **given: Any) -> dict[str, torch.Tensor]:
        """The logits of each step, and the ids that were chosen."""
        self._prompt = prompted(given)
        watch = LogitsProcessorList([_Prefill(self.clock)])
        self.clock.begin()
        out = self.model.generate(**given, logits_processor=watch, streamer=_Tokens(self.clock))
        if not hasattr(out, "logits"):
            raise Unsuited(f"{type(self.model).__name__} generates in its own way, which gives no logits")
        self.clock.end(self._new)
        self.whole = out.sequences
        return {LOGITS: torch.stack(out.logits, 1), IDS: out.sequences[:, -self._new :]}

    def generation(self) -> dict[str, Any]:
        """What the generations so far took."""
        batch, prompt = self._prompt
        return self.clock.report(prompt, self._new, batch)


class _Prefill(LogitsProcessor):
    """Notes when the first logits are there, and changes nothing. Later ones are not awaited: their tokens are."""

    def __init__(self, clock: Clock) -> None:
        self._clock, self._seen = clock, False

    def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        if not self._seen:
            self._seen = True
            if scores.device.type != "cpu":
                scores[0, 0].item()  # awaits the device
            self._clock.logits()
        return scores


class _Tokens(BaseStreamer):
    """Notes tokens as the library hands them out, on the host. The prompt comes first, and is none of them."""

    def __init__(self, clock: Clock) -> None:
        self._clock, self._batch = clock, 0

    def put(self, value: torch.Tensor) -> None:
        if not self._batch:
            self._batch = value.shape[0]
            return
        # A token for each row; of one row it may be several that were accepted together.
        self._clock.step(*value.reshape(-1, self._batch).unbind())

    def end(self) -> None:
        """Nothing is held back."""


def _fixed(model: PreTrainedModel, new_tokens: int, cache: str) -> Any:
    """The model's own way to generate, greedy, and of a fixed length."""
    config = copy.deepcopy(model.generation_config)
    config.update(
        decoder_start_token_id=start(config),
        do_sample=False,
        num_beams=1,
        use_cache=cache != OFF,
        cache_implementation=cache if cache == STATIC else None,
        disable_compile=True,
        max_length=None,
        max_new_tokens=new_tokens,
        eos_token_id=None,
        forced_eos_token_id=None,
        pad_token_id=config.pad_token_id or 0,
        return_dict_in_generate=True,
        output_logits=True,
    )
    return config


def start(config: Any) -> int:
    """The id that a decoder's text begins with; tiny models may name none."""
    named = (getattr(config, name, None) for name in ("decoder_start_token_id", "bos_token_id", "pad_token_id"))
    return next((token for token in named if token is not None), 0)


def construct(recipe: Recipe, attention: str | None) -> Continuation:
    """The recipe's class with drawn weights, to be continued with."""
    return around(recipe, models.model_class(recipe)(models.config(recipe, attention)))


def around(recipe: Recipe, model: PreTrainedModel) -> Continuation:
    """A model to be continued with."""
    if not (callable(getattr(model, "generate", None)) and model.can_generate()):
        raise Unsuited(f"{recipe['class']} generates no text: mode generate is for language models")
    cache = recipe.get(CACHE) or DYNAMIC
    if cache == STATIC and getattr(model, "_is_stateful", False):
        raise Unsuited(f"{recipe['class']} keeps its past in a state of its own, and no cache of a fixed size")
    return Continuation(model, recipe.get(TOKENS) or NEW_TOKENS, cache)

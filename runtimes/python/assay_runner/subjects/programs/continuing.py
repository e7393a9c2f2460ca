"""The program `continue`: a language model that continues its prompt by a fixed number of tokens, greedily.

It is what the mode `generate` of a cell makes of a plain recipe. The model's own `generate` runs with its cache; the
end of a text is switched off.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

import torch
from transformers import LogitsProcessor, LogitsProcessorList, PreTrainedModel

from assay_runner.errors import Unsuited
from assay_runner.subjects import models
from assay_runner.subjects.generation import IDS, LOGITS, NEW_TOKENS, Clock, prompted
from assay_runner.subjects.wrapping import Wrapped

Recipe = Mapping[str, Any]


class Continuation(Wrapped):
    """A model whose forward continues a text."""

    weights_inside = "model."  # drawn by the names that they have in the model itself

    def __init__(self, model: PreTrainedModel, new_tokens: int = NEW_TOKENS) -> None:
        super().__init__(model)
        # As its own: what a configuration leaves open that is given with a call is filled in from the model's.
        model.generation_config = _fixed(model, new_tokens)
        self._new = new_tokens
        self.clock = Clock()
        self._prompt = (0, 0)

    def forward(self, **given: Any) -> dict[str, torch.Tensor]:
        """The logits of each step, and the ids that were chosen."""
        self._prompt = prompted(given)
        watch = LogitsProcessorList([_Stamp(self.clock)])
        self.clock.begin()
        out = self.model.generate(**given, logits_processor=watch)
        if not hasattr(out, "logits"):
            raise Unsuited(f"{type(self.model).__name__} generates in its own way, which gives no logits")
        if len(out.logits) != self._new:
            raise RuntimeError(f"{len(out.logits)} tokens were generated where {self._new} were asked for")
        return {LOGITS: torch.stack(out.logits, 1), IDS: out.sequences[:, -self._new :]}

    def generation(self) -> dict[str, Any]:
        """What the generations so far took."""
        batch, prompt = self._prompt
        return self.clock.report(prompt, self._new, batch)


class _Stamp(LogitsProcessor):
    """Notes when a step's logits are there, and changes nothing."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock

    def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        if scores.device.type != "cpu":
            scores[0, 0].item()  # awaits the device
        self._clock.step()
        return scores


def _fixed(model: PreTrainedModel, new_tokens: int) -> Any:
    """The model's own way to generate, greedy, with a cache, and of a fixed length."""
    config = copy.deepcopy(model.generation_config)
    config.update(
        decoder_start_token_id=start(config),
        do_sample=False,
        num_beams=1,
        use_cache=True,
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
    return Continuation(model)

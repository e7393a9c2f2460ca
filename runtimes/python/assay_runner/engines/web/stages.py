"""The two stages of a language model with its past between them (`cached`): what goes in and out of each, and the
modules that are traced for a model that continues a text.

The past has a fixed number of slots, filled from the right. A step reads all of them, and `seen` hides those that are
still empty; it gives the past moved by one slot to the left, with the new token in the last one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from inspect import signature
from typing import Any

import numpy as np
import torch
from transformers import DynamicCache, PreTrainedModel

from assay_runner.errors import ExportFailed
from assay_runner.exporting import prompts
from assay_runner.subjects.outputs import Tensors
from assay_runner.subjects.wrapping import Wrapped

IDS, MASK, LOGITS = "input_ids", "attention_mask", "logits"
TOKEN, PLACE, SEEN = "token", "place", "seen"
"""What a step reads beside what is kept, under names that are no model's: by those exporters take masks and positions
for constants. The token, how many stand before it, and which slots are not empty."""

PAST, PRESENT = "past_", "present_"  # what a step reads of the past, and what it gives as the next one's

_HOW = "generation in a page"

_OF_MODEL = {TOKEN: IDS, SEEN: MASK, PLACE: "position_ids"}


@dataclass(frozen=True)
class Stages:
    """Both stages of a model and what they are traced with. Everything that a step reads beside its token is an output
    of the prompt, or of the step before: what is `present_` there is `past_` here, all else keeps its name."""

    prompt: torch.nn.Module
    given: Mapping[str, torch.Tensor]
    opened: Tensors  # what the prompt gives
    step: torch.nn.Module
    later: Mapping[str, torch.Tensor]  # inputs of the first step


class Prompt(Wrapped):
    """What is computed once."""

    def __init__(self, model: PreTrainedModel, words: int, slots: int) -> None:
        super().__init__(model)
        self._words, self._slots, self._call = words, slots, _called(model)

    def forward(self, **given: torch.Tensor) -> Tensors:
        """The logits after the prompt, and the past with the prompt in its last slots."""
        out = self.model(**given, **self._call)
        return {LOGITS: out.logits[:, -1], **{n: self._padded(t) for n, t in _layers(out).items()}}

    def _padded(self, tensor: torch.Tensor) -> torch.Tensor:
        prompts.refuse_longer(self._words, tensor.shape[2], _HOW)
        return torch.nn.functional.pad(tensor, (0, 0, self._slots - tensor.shape[2], 0))


class Step(Wrapped):
    """What is computed for each token."""

    def __init__(self, model: PreTrainedModel) -> None:
        super().__init__(model)
        self._call = _called(model)

    def forward(self, **given: torch.Tensor) -> Tensors:
        """The logits after the token, and the past with it."""
        kept = [t for name, t in given.items() if name.startswith(PAST)]
        plain = {_OF_MODEL[name]: t for name, t in given.items() if not name.startswith(PAST)}
        past = DynamicCache(list(zip(kept[::2], kept[1::2], strict=True)))
        out = self.model(**plain, past_key_values=past, **self._call)
        return {LOGITS: out.logits[:, -1], **{n: t[:, :, 1:] for n, t in _layers(out).items()}}


def of_text(model: PreTrainedModel, tensors: Mapping[str, torch.Tensor], new: int) -> Stages:
    """The stages of a model that continues its text by this many tokens. What is read beside the text, such as an
    image, goes with the prompt; a mask of a prompt without padding says nothing."""
    prompts.refuse_others(tensors, _HOW)
    given = {name: t for name, t in tensors.items() if name != MASK}
    words = tensors[IDS].shape[1]
    prompt = Prompt(model, words, words + new)
    opened = ran(prompt, given)
    known = signature(model.forward).parameters
    own = {n: t for n, t in first(opened, new).items() if n == TOKEN or _OF_MODEL[n] in known}
    return Stages(prompt, given, opened, Step(model), own | past(opened))


def ran(module: torch.nn.Module, given: Mapping[str, torch.Tensor]) -> Tensors:
    """What a stage gives, each tensor its own."""
    with torch.no_grad():
        return {name: t.clone() for name, t in module(**given).items()}


def first(opened: Tensors, new: int) -> dict[str, torch.Tensor]:
    """What the first step reads beside what is kept."""
    slots = next(t for name, t in opened.items() if name.startswith(PRESENT)).shape[2]
    arrays = beside(opened[LOGITS].argmax(-1)[:, None].numpy(), slots - new, slots)
    return {name: torch.from_numpy(array) for name, array in arrays.items()}


def past(opened: Tensors) -> dict[str, torch.Tensor]:
    """The past that the next step reads."""
    return {PAST + name.removeprefix(PRESENT): t for name, t in opened.items() if name.startswith(PRESENT)}


def beside(ids: np.ndarray, before: int, slots: int) -> dict[str, np.ndarray]:
    """What a step reads beside what is kept: its token, which has this many before it."""
    seen = np.zeros((len(ids), slots + 1), np.int64)
    seen[:, slots - before :] = 1
    return {TOKEN: ids, SEEN: seen, PLACE: np.full(ids.shape, before, np.int64)}


def _called(model: PreTrainedModel) -> dict[str, Any]:
    last = {"logits_to_keep": 1} if "logits_to_keep" in signature(model.forward).parameters else {}
    return {"use_cache": True, "return_dict": True, **last}


def _layers(out: Any) -> Tensors:
    """Keys and values of each layer, in turns."""
    cache = getattr(out, "past_key_values", None)
    layers = getattr(cache, "layers", None) or []
    if not isinstance(cache, DynamicCache) or any(getattr(layer, "keys", None) is None for layer in layers):
        raise ExportFailed("this model keeps more of the past than, or something other than, keys and values")
    return named(layers)


def named(layers: Any) -> Tensors:
    """Keys and values of layers by their names, in turns."""
    kinds = ("keys", "values")
    return {f"{PRESENT}{i}_{kind}": getattr(layer, kind) for i, layer in enumerate(layers) for kind in kinds}

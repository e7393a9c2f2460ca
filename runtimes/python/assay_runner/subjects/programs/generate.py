"""The program `generate`: models whose class has no forward of its own, because a use of them is a whole generation.

The model's own `generate` runs with the call that the recipe gives: few tokens, always the same number of them so
that shapes do not depend on weights, and greedy so that nothing is drawn. Ids are not numbers to compare, so the
logits of every step of every part are returned beside what was generated.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import torch
from transformers import PreTrainedModel

from assay_runner.subjects import models
from assay_runner.subjects.wrapping import Wrapped

Recipe = Mapping[str, Any]
CONFIGURATION = "generation_config"  # the part that says how to generate, where a model cannot do without
SPEAKER = "speaker_"  # inputs of such names describe a speaker, which released models read from a file of speakers


class Generation(Wrapped):
    """A model whose forward is its `generate`."""

    def forward(self, **given: Any) -> dict[str, Any]:
        """Generates. Returns the logits of each part, step by step, and what `generate` returned."""
        told = {name: given.pop(name) for name in list(given) if name.startswith(SPEAKER)}
        if told:
            speaker = {name.removeprefix(SPEAKER): value for name, value in told.items()}
            self.model.speaker_map = {given["speaker"]: speaker}
        with _logits(self.model) as seen:
            generated = self.model.generate(**given)
        return {"logits": {name: torch.stack(steps, 1) for name, steps in seen.items()}, "generated": generated}


@contextmanager
def _logits(model: torch.nn.Module) -> Iterator[dict[str, list[torch.Tensor]]]:
    """Inside, the last logits of every call of each part of the model are kept under the part's name."""
    seen: dict[str, list[torch.Tensor]] = {}

    def watch(name: str, part: torch.nn.Module) -> torch.utils.hooks.RemovableHandle:
        def keep(_module: Any, _arguments: Any, output: Any) -> None:
            logits = getattr(output, "logits", None)
            if torch.is_tensor(logits):
                seen.setdefault(name, []).append(logits[:, -1])

        return part.register_forward_hook(keep)

    handles = [watch(name, part) for name, part in model.named_children()]
    try:
        yield seen
    finally:
        for handle in handles:
            handle.remove()


def lacks_forward(cls: type) -> bool:
    """Whether a model class can only be used by generating."""
    return cls.forward.__name__ == "_forward_unimplemented" and callable(getattr(cls, "generate", None))


def first_part(model: Generation) -> torch.nn.Module:
    """The part that sees the inputs: inputs that fit it fit the whole."""
    return next(part for part in model.model.children() if isinstance(part, PreTrainedModel))


def construct(recipe: Recipe, attention: str | None) -> Generation:
    """The recipe's class with drawn weights, to be generated with."""
    return around(recipe, models.model_class(recipe)(models.config(recipe, attention)))


def around(recipe: Recipe, model: PreTrainedModel) -> Generation:
    """A model to be generated with, by the recipe's generation configuration where it has one."""
    part = recipe.get("parts", {}).get(CONFIGURATION)
    if part:
        model.generation_config = models.model_class(part)(**copy.deepcopy(part["config"]))
    return Generation(model)

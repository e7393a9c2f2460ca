"""The program `encode`: quantisers whose class has no forward, because larger models only ever call their `encode`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from transformers import PreTrainedModel

from assay_runner.subjects import models
from assay_runner.subjects.wrapping import Wrapped

Recipe = Mapping[str, Any]


class Encoding(Wrapped):
    """A model whose forward is its `encode`."""

    def forward(self, hidden_states: torch.Tensor) -> Any:
        """Encodes feature maps."""
        return self.model.encode(hidden_states)


def only_encodes(cls: type) -> bool:
    """Whether a model class can only be used by encoding."""
    return cls.forward.__name__ == "_forward_unimplemented" and callable(getattr(cls, "encode", None))


def construct(recipe: Recipe, attention: str | None) -> Encoding:
    """The recipe's class with drawn weights, to be encoded with."""
    return around(recipe, models.model_class(recipe)(models.config(recipe, attention)))


def around(recipe: Recipe, model: PreTrainedModel) -> Encoding:
    """A model to be encoded with."""
    return Encoding(model)

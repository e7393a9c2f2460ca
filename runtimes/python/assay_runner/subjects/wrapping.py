"""A model with another forward: what programs and the stages of a generation have in common."""

from __future__ import annotations

from typing import Any

import torch
from transformers import PreTrainedModel


class Wrapped(torch.nn.Module):
    """A model inside a module whose forward is more than one of the model's own."""

    def __init__(self, model: PreTrainedModel) -> None:
        super().__init__()
        self.model = model

    @property
    def config(self) -> Any:
        """The model's own configuration."""
        return self.model.config

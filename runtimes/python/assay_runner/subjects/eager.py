"""Models that compute step by step, as their own code has it, where the library would choose a fused kernel."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch

ATTENTION = "_attn_implementation_internal"
EXPERTS = "_experts_implementation_internal"


@contextmanager
def eager(model: torch.nn.Module, *choices: str) -> Iterator[None]:
    """Inside, what a model's configurations choose for ATTENTION or EXPERTS is the eager one."""
    configs = {id(module.config): module.config for module in model.modules() if hasattr(module, "config")}
    own = [(c, name, getattr(c, name)) for c in configs.values() for name in choices if hasattr(c, name)]
    try:
        for config, name, _ in own:
            setattr(config, name, "eager")
        yield
    finally:
        for config, name, value in own:
            setattr(config, name, value)

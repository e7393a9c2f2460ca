"""Models that compute step by step, as their own code has it, where the library would choose a fused kernel."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import torch

from assay_runner.subjects.replacing import replaced

ATTENTION = "_attn_implementation_internal"
EXPERTS = "_experts_implementation_internal"


@contextmanager
def eager(model: torch.nn.Module, *choices: str) -> Iterator[None]:
    """Inside, what a model's configurations choose for ATTENTION or EXPERTS is the eager one."""
    configs = {id(module.config): module.config for module in model.modules() if hasattr(module, "config")}
    with ExitStack() as stack:
        for config, name in itertools.product(configs.values(), choices):
            stack.enter_context(replaced(config, name, lambda own: "eager"))
        yield

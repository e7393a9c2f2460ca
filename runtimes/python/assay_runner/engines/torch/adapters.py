"""Adapters: a few small matrices beside the weights, which are trained in their place. LoRA, by peft.

Both matrices of an adapter are drawn, the same bits everywhere: with the second one zero, as peft begins, the first
would have no gradient to judge. The base must not move, and that is looked at, not assumed.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import torch

from assay_runner.errors import Unsuited
from assay_runner.subjects import stream

LORA = "lora"
RANK, SCALE = 8, 16
_SMALL = stream.Draw(0.0, 0.02)


def add(model: torch.nn.Module, seed: int) -> int:
    """Puts adapters beside every linear layer but the last, in place; how many. The base is frozen."""
    try:
        from peft import LoraConfig, inject_adapter_in_model
    except ImportError as error:
        raise ModuleNotFoundError(f"LoRA needs peft, which is not in this environment: {error}", name="peft") from error
    config = LoraConfig(r=RANK, lora_alpha=SCALE, lora_dropout=0.0, target_modules="all-linear")
    try:
        inject_adapter_in_model(config, model)
    except ValueError as error:
        raise Unsuited(f"peft finds no layer of {type(model).__name__} to adapt: {str(error)[:200]}") from error
    own = trained(model)
    with torch.no_grad():
        for name, p in own.items():
            drawn = stream.floats(f"{seed}/adapter/{name}", math.prod(p.shape), _SMALL).reshape(p.shape)
            p.copy_(torch.from_numpy(drawn))
    return len(own) // 2


def trained(model: torch.nn.Module) -> dict[str, torch.nn.Parameter]:
    """The adapters' parameters."""
    return {name: p for name, p in model.named_parameters() if "lora_" in name}


def base(model: torch.nn.Module) -> dict[str, torch.Tensor]:
    """A copy of all other parameters."""
    return {name: p.detach().to("cpu", copy=True) for name, p in model.named_parameters() if "lora_" not in name}


def moved(model: torch.nn.Module, before: Mapping[str, torch.Tensor]) -> list[str]:
    """The parameters of the base that are not to the bit what they were."""
    now = dict(model.named_parameters())
    return [name for name, was in before.items() if not torch.equal(now[name].detach().cpu(), was)]


@contextmanager
def thawed(model: torch.nn.Module) -> Iterator[str]:
    """Inside, one parameter of the base is trained too: the fault that `moved` must notice."""
    name = next(name for name, p in model.named_parameters() if "lora_" not in name and p.is_floating_point())
    parameter = dict(model.named_parameters())[name]
    parameter.requires_grad_(True)
    try:
        yield name
    finally:
        parameter.requires_grad_(False)


def report(model: torch.nn.Module, moved_names: list[str], control: dict[str, Any]) -> dict[str, Any]:
    """As the protocol has it."""
    own = sum(p.numel() for p in trained(model).values())
    return {
        "kind": LORA,
        "rank": RANK,
        "modules": len(trained(model)) // 2,
        "parameters": own,
        "base_moved": moved_names,
        "pass": not moved_names,
        "control": control,
    }

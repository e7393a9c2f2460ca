"""What a model holds: parameters and buffers, by dtype and by part."""

from __future__ import annotations

from collections import Counter
from typing import Any

import torch

# The dtypes in which weights are commonly held, and the bytes of a number in each.
HELD_IN = {"fp32": 4, "fp16": 2, "bf16": 2}


def report(model: torch.nn.Module) -> dict[str, Any]:
    """Counts; tied parameters count once."""
    held = list(model.parameters())
    by_dtype: Counter[str] = Counter()
    for parameter in held:
        by_dtype[str(parameter.dtype).removeprefix("torch.")] += parameter.numel()
    return {
        "total": sum(p.numel() for p in held),
        "trainable": sum(p.numel() for p in held if p.requires_grad),
        "by_dtype": dict(by_dtype),
        "modules": _modules(model),
    }


def _modules(model: torch.nn.Module) -> list[dict[str, Any]]:
    """The parts at the top; a parameter that two share counts for the first."""
    seen: set[int] = set()
    rows = [_part(name, type(child).__name__, child.parameters(), seen) for name, child in model.named_children()]
    own = _part("", type(model).__name__, model.parameters(), seen)
    return rows + ([own] if own["parameters"] else [])


def _part(name: str, cls: str, parameters: Any, seen: set[int]) -> dict[str, Any]:
    fresh = {id(p): p.numel() for p in parameters if id(p) not in seen}
    seen.update(fresh)
    return {"name": name, "class": cls, "parameters": sum(fresh.values())}


def weights_bytes(model: torch.nn.Module) -> dict[str, int]:
    """Bytes of the parameters in each dtype that they may be held in; whole numbers keep their own."""
    floats = sum(p.numel() for p in model.parameters() if p.is_floating_point())
    others = sum(p.numel() * p.itemsize for p in model.parameters() if not p.is_floating_point())
    return {name: floats * each + others for name, each in HELD_IN.items()}


def buffers_bytes(model: torch.nn.Module) -> int:
    """Bytes of tables and statistics that are not parameters."""
    return sum(b.numel() * b.itemsize for b in model.buffers())

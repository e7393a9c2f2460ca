"""Checks what the search found: other batches, other sizes, numbers that are numbers."""

from __future__ import annotations

import re
from typing import Any

import torch

from assay_runner.subjects import outputs

from .search import Fitted, run

BATCHES = (1, 2, 3)


class Unfit(Exception):
    """The model ran, and what it gave cannot be used."""


def check(model: torch.nn.Module, fitted: Fitted, unheeded: frozenset[str] = frozenset()) -> Fitted:
    """Returns the inputs with the symbols that really are free; raises Unfit, or what the model raises.

    ``unheeded`` names the inputs that a row of special.json says the model does not look at."""
    holds(model, fitted, unheeded)
    for symbol in list(fitted.sizes):
        if not free(model, fitted, symbol):
            fitted = _fixed(fitted, symbol)
    return fitted


def holds(model: torch.nn.Module, fitted: Fitted, unheeded: frozenset[str] = frozenset()) -> None:
    """Raises unless the model gives useful numbers with every batch size, and heeds everything it is told."""
    for batch in BATCHES:
        _useful(run(model, fitted, {"batch": batch}), f"at batch {batch}")
    for name in _told(fitted):
        if name not in unheeded:
            _heeded(model, fitted, name)


def _told(fitted: Fitted) -> list[str]:
    """The inputs that tell the model something: drawn numbers, not masks or marks."""
    return [spec["name"] for spec in fitted.inputs if spec["kind"] == "float" or spec.get("high", 1) > 1]


def _heeded(model: torch.nn.Module, fitted: Fitted, name: str) -> None:
    """Another value of one input must change the output: an input that is ignored has not been tested."""
    before = outputs.flatten(run(model, fitted, {"batch": 1}))
    after = outputs.flatten(run(model, fitted, {"batch": 1}, other=name))
    if all(a.shape == b.shape and torch.equal(a, b) for a, b in zip(before.values(), after.values(), strict=True)):
        raise Unfit(f"the output does not depend on {name}")


def _useful(output: Any, where: str) -> None:
    tensors = outputs.flatten(output)
    numbers = [t for t in tensors.values() if t.is_floating_point()]
    if not numbers:
        raise Unfit(f"the output has no floating-point numbers {where}")
    if not all(bool(torch.isfinite(t).all()) for t in numbers):
        raise Unfit(f"the output is not finite {where}")
    if outputs.constant(tensors):
        raise Unfit(f"the output is constant {where}")


def free(model: torch.nn.Module, fitted: Fitted, symbol: str) -> bool:
    """Whether the model also runs with twice or half the symbol's value."""
    value = fitted.sizes[symbol]
    return any(_runs(model, fitted, symbol, other) for other in (2 * value, value // 2))


def _runs(model: torch.nn.Module, fitted: Fitted, symbol: str, value: int) -> bool:
    """Whether the model also runs, in a batch, with another value of the symbol."""
    try:
        _useful(run(model, fitted, {"batch": 2, symbol: value}), f"at {symbol} {value}")
    except Exception:  # noqa: BLE001 - whatever the model raises, the symbol is not free
        return False
    return True


def _fixed(fitted: Fitted, symbol: str) -> Fitted:
    """The inputs with the symbol's value in its place."""
    value, word = str(fitted.sizes[symbol]), re.compile(rf"\b{symbol}\b")

    def entry(old: int | str) -> int | str:
        new = word.sub(value, old) if isinstance(old, str) else old
        return int(new) if isinstance(new, str) and new.isdigit() else new

    inputs = [
        {**spec, "shape": [entry(old) for old in spec["shape"]]} if "shape" in spec else spec for spec in fitted.inputs
    ]
    sizes = {name: size for name, size in fitted.sizes.items() if name != symbol}
    return Fitted(inputs, sizes, fitted.call)

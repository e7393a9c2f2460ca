"""Optimisers: torch's own, which are measured, and the same rules written out, which they are checked against."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import torch

ADAMW, SGD = "adamw", "sgd"
_BETAS, _EPSILON, _DECAY = (0.9, 0.999), 1e-8, 0.01  # torch's own, said here so that both sides have them

MADE: Mapping[str, Callable[[Iterable[torch.nn.Parameter], float], torch.optim.Optimizer]] = {
    ADAMW: lambda p, rate: torch.optim.AdamW(p, lr=rate, betas=_BETAS, eps=_EPSILON, weight_decay=_DECAY),
    SGD: lambda p, rate: torch.optim.SGD(p, lr=rate),
}


class Written:
    """The rule of an optimiser as its paper has it."""

    def __init__(self, name: str, rate: float) -> None:
        self._name, self._rate, self._count = name, rate, 0
        self._means: dict[str, tuple[torch.Tensor, torch.Tensor]] = {}

    def step(self, parameters: Mapping[str, torch.nn.Parameter]) -> None:
        """Moves every parameter that has a gradient."""
        self._count += 1
        for name, p in parameters.items():
            if p.grad is not None:
                p.data = self._sgd(p.data, p.grad) if self._name == SGD else self._adamw(name, p.data, p.grad)

    def _sgd(self, p: torch.Tensor, gradient: torch.Tensor) -> torch.Tensor:
        return p - self._rate * gradient

    def _adamw(self, name: str, p: torch.Tensor, gradient: torch.Tensor) -> torch.Tensor:
        first, second = self._means.get(name, (torch.zeros_like(p), torch.zeros_like(p)))
        first = _BETAS[0] * first + (1 - _BETAS[0]) * gradient
        second = _BETAS[1] * second + (1 - _BETAS[1]) * gradient * gradient
        self._means[name] = first, second
        mean, square = first / (1 - _BETAS[0] ** self._count), second / (1 - _BETAS[1] ** self._count)
        return p * (1 - self._rate * _DECAY) - self._rate * mean / (square.sqrt() + _EPSILON)


def rate(name: str, loss: float, gradients: Iterable[torch.Tensor]) -> float:
    """A learning rate by which a first step lowers the loss by about a twentieth, as far as its slope tells: the same
    on both sides, and fit for any model. What adamw moves does not depend on how long a gradient is."""
    norm: Any = (lambda g: g.double().square().sum()) if name == SGD else (lambda g: g.double().abs().sum())
    slope = sum(norm(g).item() for g in gradients)
    found = abs(loss) / 20 / slope if slope > 0 else 0.0
    return min(found, 1e-3) if name == ADAMW else found

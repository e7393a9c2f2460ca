"""How far a model's outputs move when everything in it moves by roundings: where that is far, the last bit decides."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

_ROUNDING = 2e-7  # some roundings of float32
_LEAST = 1e-4  # zeros are moved too
_TRIALS = 3

Tensors = dict[str, torch.Tensor]


def movement(model: torch.nn.Module, run: Callable[[Tensors], Tensors], given: Tensors, apart: Callable) -> float:
    """The furthest that outputs move: with weights, floating inputs and what each layer gives moved by roundings, and
    with any of equal scores taken as the best. apart measures how far outputs are from each other."""
    right, most = run(given), 0.0
    for seed in range(_TRIALS):
        draw = torch.Generator().manual_seed(seed)
        with _weights_moved(model, draw), _layers_moved(model, draw), _Shuffled(draw):
            most = max(most, apart(run({name: _moved(t, draw) for name, t in given.items()}), right))
    return most


class _Shuffled(TorchFunctionMode):
    """Inside, `topk` sees scores in a drawn order: it says nothing of equal ones."""

    def __init__(self, draw: torch.Generator) -> None:
        super().__init__()
        self._draw = draw

    def __torch_function__(self, func: Any, types: Any, args: tuple = (), kwargs: dict | None = None) -> Any:
        kwargs = kwargs or {}
        if func not in (torch.topk, torch.Tensor.topk):
            return func(*args, **kwargs)
        dim = kwargs.get("dim", args[2] if len(args) > 2 else -1)
        order = torch.randperm(args[0].shape[dim], generator=self._draw)
        found = func(args[0].index_select(dim, order), *args[1:], **kwargs)
        return torch.return_types.topk((found.values, order[found.indices]))


def _moved(t: torch.Tensor, draw: torch.Generator) -> torch.Tensor:
    if not t.is_floating_point() or not t.numel():
        return t
    return t * (1 + _ROUNDING * torch.randn(t.shape, generator=draw).to(t.dtype))


@contextmanager
def _weights_moved(model: torch.nn.Module, draw: torch.Generator) -> Iterator[None]:
    kept = [(p, p.data) for p in model.parameters() if p.is_floating_point()]
    try:
        for p, data in kept:
            p.data = _moved(data, draw)
        yield
    finally:
        for p, data in kept:
            p.data = data


@contextmanager
def _layers_moved(model: torch.nn.Module, draw: torch.Generator) -> Iterator[None]:
    def move(_module: torch.nn.Module, _given: Any, result: Any) -> Any:
        if not isinstance(result, torch.Tensor) or not result.is_floating_point() or not result.numel():
            return None
        largest = result.detach().abs().max().nan_to_num(0.0, 0.0, 0.0).clamp(min=_LEAST)
        noise = torch.randn(result.shape, generator=draw).to(result.dtype)
        return result + largest * noise * _ROUNDING

    with ExitStack() as stack:
        for module in model.modules():
            if not any(True for _ in module.children()):
                stack.callback(module.register_forward_hook(move).remove)
        yield

"""Whether a model's answer to an input means anything.

Where scores are equal, or all but equal, the last bit decides what is chosen: two right programs give different answers
then, and neither is wrong. Blank inputs do that to models that choose (the best candidates, the nearest code, experts).
It is seen by a trial: what each layer gives is moved by some roundings of float32, and the outputs must follow by no
more than a part of what is allowed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import torch

from assay_runner.checking import numerics
from assay_runner.subjects.outputs import Tensors

ROUNDINGS = 2e-7  # of the largest: some of float32's own, as another order of sums gives
_TRIALS = 3
_LEAST = 1e-4  # what is nothing at all is moved too: its ties are as good as any
_SHARE = 0.3  # of the tolerance


def steady(movement: float, limit: float) -> bool:
    """Whether outputs that move so far mean anything."""
    return movement <= _SHARE * limit


def sensitivity(movement: float, first: float) -> float:
    """How many times as far outputs move as those of the first sample, at least one: as many times as large are errors
    of rounding in a narrow dtype."""
    return max(1.0, movement / max(first, ROUNDINGS))


def moved(model: torch.nn.Module, run: Callable[[], Tensors], expected: Tensors) -> float:
    """How far outputs move, as a comparison's max_rel, when everything inside moves by some roundings."""
    return max(_moved(model, run, expected, seed) for seed in range(_TRIALS))


def _moved(model: torch.nn.Module, run: Callable[[], Tensors], expected: Tensors, seed: int) -> float:
    with jittered(model, seed):
        return numerics.compare(run(), expected).max_rel


@contextmanager
def jittered(model: torch.nn.Module, seed: int) -> Iterator[None]:
    """Inside, what the innermost modules give is moved by some roundings, in the same way for a seed."""
    draw = torch.Generator().manual_seed(seed)

    def move(_module: torch.nn.Module, _given: Any, result: Any) -> Any:
        if not isinstance(result, torch.Tensor) or not result.is_floating_point() or not result.numel():
            return None
        noise = torch.randn(result.shape, generator=draw, dtype=torch.float32).to(result.device, result.dtype)
        size = result.detach().abs().max().nan_to_num(0.0, 0.0, 0.0).clamp(min=_LEAST)
        return result + size * noise * ROUNDINGS

    with ExitStack() as stack:
        for module in model.modules():
            if not any(True for _ in module.children()):
                stack.callback(module.register_forward_hook(move).remove)
        yield

"""Whether a model's answer to an input means anything.

Where scores are equal, or all but equal, the last bit decides what is chosen: two right programs give different answers
then, and neither is wrong. Blank inputs do that to models that choose (the best candidates, the nearest code, experts).
It is seen by a trial: what each layer gives is moved by some roundings of float32, and the outputs must follow by no
more than a part of what is allowed. Scores that were cut off are equal whatever moves them (zeros behind a ReLU), and
torch does not say which of equal scores `topk` takes: in one trial these are the first, in the other the last.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from assay_runner.checking import numerics
from assay_runner.subjects.outputs import Tensors

ROUNDINGS = {"fp32": 2e-7, "fp16": 2.5e-4, "bf16": 2e-3}
"""Of the largest number: some roundings of float32, as another order of sums gives, and one of a narrow dtype."""
_SHARE = 0.3  # of the tolerance that outputs may move by
_LEAST = 1e-4  # what is nothing at all is moved too: its ties are as good as any
_DOUBTS = 16  # more trials before something is called wrong
_TRIALS = {"fp32": 2}  # in narrow dtypes one shows enough: they are judged by how far they move, not by whether


def steady(movement: float, limit: float) -> bool:
    """Whether outputs that move so far in float32 mean anything."""
    return movement <= _SHARE * limit


def doubtful(model: torch.nn.Module, run: Callable[[], Tensors], expected: Tensors, limit: float) -> bool:
    """Whether the last bit may decide after all, in float32. Two trials miss a choice that is only near; nobody is
    blamed before more were made."""
    seeds = range(_TRIALS["fp32"], _TRIALS["fp32"] + _DOUBTS)
    return any(not steady(_moved(model, run, expected, seed, ROUNDINGS["fp32"]), limit) for seed in seeds)


def rounding(model: torch.nn.Module, run: Callable[[], Tensors], expected: Tensors) -> dict[str, tuple[float, float]]:
    """How far each output moves in float32, as `tolerances` has it: the error over the largest value, and that of the
    worst row over its length. For models of which float64 cannot say it."""
    found: dict[str, tuple[float, float]] = {}
    for seed in range(_TRIALS["fp32"]):
        with jittered(model, seed, ROUNDINGS["fp32"]):
            compared = numerics.compare(run(), expected)
        for name, error in compared.errors.items():
            old = found.get(name, (0.0, 0.0))
            found[name] = max(old[0], error.rel), max(old[1], error.row)
    return found


def moved(model: torch.nn.Module, run: Callable[[], Tensors], expected: Tensors, dtype: str = "fp32") -> float:
    """How far outputs move, as a comparison's max_rel, when everything inside moves by roundings of a dtype."""
    return max(_moved(model, run, expected, seed, ROUNDINGS[dtype]) for seed in range(_TRIALS.get(dtype, 1)))


def _moved(model: torch.nn.Module, run: Callable[[], Tensors], expected: Tensors, seed: int, size: float) -> float:
    with jittered(model, seed, size):
        return numerics.compare(run(), expected).max_rel


@contextmanager
def jittered(model: torch.nn.Module, seed: int, size: float) -> Iterator[None]:
    """Inside, what the innermost modules give is moved by so much, in the same way for a seed. An odd seed moves it in
    the opposite direction to the even one before it: of two equal scores each is the larger once. Of those that stay
    equal the first are the best for an even seed, the last for an odd one."""
    draw, sign = torch.Generator().manual_seed(seed // 2), -1.0 if seed % 2 else 1.0

    def move(_module: torch.nn.Module, _given: Any, result: Any) -> Any:
        if not isinstance(result, torch.Tensor) or not result.is_floating_point() or not result.numel():
            return None
        noise = torch.randn(result.shape, generator=draw, dtype=torch.float32).to(result.device, result.dtype)
        largest = result.detach().abs().max().nan_to_num(0.0, 0.0, 0.0).clamp(min=_LEAST)
        return result + largest * noise * (sign * size)

    with ExitStack() as stack:
        for module in model.modules():
            if not any(True for _ in module.children()):
                stack.callback(module.register_forward_hook(move).remove)
        stack.enter_context(_Best(last=bool(seed % 2)))
        yield


class _Best(TorchFunctionMode):
    """Inside, `topk` takes the first or the last of scores that are equal."""

    def __init__(self, last: bool) -> None:
        super().__init__()
        self._last = last

    def __torch_function__(self, func: Any, types: Any, args: tuple = (), kwargs: dict | None = None) -> Any:
        kwargs = kwargs or {}
        if func in (torch.topk, torch.Tensor.topk) and args and args[0].dim() and "out" not in kwargs:
            return self._topk(*args, **kwargs)
        return func(*args, **kwargs)

    def _topk(
        self, input: torch.Tensor, k: int, dim: int = -1, largest: bool = True, sorted: bool = True
    ) -> torch.return_types.topk:
        """As torch's, with torch's names. What is asked for unsorted may come sorted."""
        given = input.flip(dim) if self._last else input
        values, places = torch.sort(given, dim=dim, descending=largest, stable=True)
        places = input.shape[dim] - 1 - places if self._last else places
        return torch.return_types.topk((values.narrow(dim, 0, k), places.narrow(dim, 0, k)))

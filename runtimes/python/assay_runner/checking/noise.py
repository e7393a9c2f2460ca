"""Noise that a model draws inside its forward, made the same for all sides of a check.

torch's generators give different numbers for another dtype, and on another device. A
reference in a wider dtype, or a run on a GPU, would then be about different noise: masks
of other patches, other speech. Inside `Drawn` whatever is drawn comes from the CPU's
seeded generator in the dtype that the model itself draws in; it is then moved to the
device and widened. Such a mode takes time in every operator: timed runs are without.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from assay_runner.subjects.dispatching import Mode

aten = torch.ops.aten
CPU = torch.device("cpu")
# Those that make numbers of a shape, of which the last ones give whole numbers where no dtype is asked for.
LIKE = frozenset({aten.rand_like, aten.randn_like, aten.randint_like})
WHOLE = frozenset({aten.randint, aten.randperm})
SHAPED = frozenset({aten.rand, aten.randn, aten.normal}) | WHOLE
# Those that fill a tensor, and those whose numbers depend on what a tensor holds: probabilities that a device computed.
FILLED = frozenset(
    {aten.uniform_, aten.normal_, aten.exponential_, aten.bernoulli_, aten.log_normal_, aten.cauchy_, aten.geometric_,
     aten.random_}
)  # fmt: skip
DEPENDENT = frozenset(
    {aten.bernoulli, aten.multinomial, aten.poisson, aten.binomial, aten._standard_gamma, aten._sample_dirichlet,
     aten.uniform, aten.normal_functional, aten.exponential, aten.log_normal, aten.cauchy, aten.geometric, aten.random}
)  # fmt: skip
RANDOM = LIKE | SHAPED | FILLED | DEPENDENT


class Drawn(Mode):
    """Inside, random numbers are drawn on the CPU, and those asked for in ``wide`` in ``own``.

    Where no dtype is asked for, the model gets the default one of the time at which this was made: a reference has
    another one.
    """

    def __init__(self, own: torch.dtype, wide: torch.dtype) -> None:
        super().__init__()
        self._own, self._wide, self._default = own, wide, torch.get_default_dtype()
        self._twins: dict[tuple[torch.device, int], torch.Generator] = {}

    def __torch_dispatch__(self, func: Any, types: Any, args: tuple = (), kwargs: dict | None = None) -> Any:
        kwargs = kwargs or {}
        if func.overloadpacket not in RANDOM:
            return func(*args, **kwargs)
        if "out" in kwargs:
            return self._written(func, args, **kwargs)
        return self._draw(func, args, kwargs)

    def _draw(self, func: Any, args: tuple, kwargs: dict) -> Any:
        packet = func.overloadpacket
        given = {name: self._on_cpu(value) for name, value in kwargs.items()}
        if packet in FILLED:
            return self._filled(func, args, given)
        if packet is aten.normal and any(map(torch.is_tensor, args)):
            return self._around(args, given)
        if packet in DEPENDENT:
            return self._dependent(func, args, given)
        return self._made(func, args, given)

    def _made(self, func: Any, args: tuple, given: dict) -> torch.Tensor:
        like, packet = (args[0] if func.overloadpacket in LIKE else None), func.overloadpacket
        where = given.get("device") or (CPU if like is None else like.device)
        asked = given.get("dtype") or (None if like is None else like.dtype)
        if asked is not None:
            given["dtype"] = self._drawn_in(asked)
        elif packet not in WHOLE:
            asked, given["dtype"] = torch.get_default_dtype(), self._default
        drawn = func(*args, **{**given, "device": CPU})
        return drawn.to(where, asked or drawn.dtype)

    def _filled(self, func: Any, args: tuple, given: dict) -> torch.Tensor:
        filled, rest = args[0], [self._on_cpu(value) for value in args[1:]]
        if not self._elsewhere(filled):
            return func(filled, *rest, **given)
        drawn = func(torch.empty_like(filled, dtype=self._drawn_in(filled.dtype), device=CPU), *rest, **given)
        return filled.copy_(drawn)

    def _dependent(self, func: Any, args: tuple, given: dict) -> torch.Tensor:
        first = args[0]
        drawn = func(*map(self._on_cpu, args), **given)
        # Places among the probabilities are whole numbers whatever the dtype of these.
        return drawn.to(first.device, drawn.dtype if func.overloadpacket is aten.multinomial else first.dtype)

    def _around(self, args: tuple, given: dict) -> torch.Tensor:
        """A normal distribution around numbers of the model's, which are computed with where and as exactly as they
        were made."""
        mean, std = args[0], args[1] if len(args) > 1 else given.pop("std", 1.0)
        known = mean if torch.is_tensor(mean) else std
        both = torch.broadcast_tensors(*(value for value in (mean, std) if torch.is_tensor(value)))
        unit = torch.empty(both[0].shape, dtype=self._drawn_in(known.dtype), device=CPU).normal_(0, 1, **given)
        return unit.to(known.device, known.dtype) * std + mean

    def _written(self, func: Any, args: tuple, out: torch.Tensor, **kwargs: Any) -> torch.Tensor:
        """What is drawn into a tensor that is given."""
        packet = func.overloadpacket
        if packet in LIKE | SHAPED and not any(map(torch.is_tensor, args)):
            kwargs |= {"dtype": out.dtype, "device": out.device}
        drawn = self._draw(_Plain(packet), args, kwargs)
        return out.resize_(drawn.shape).copy_(drawn)

    def _drawn_in(self, asked: torch.dtype) -> torch.dtype:
        return self._own if asked is self._wide else asked

    def _elsewhere(self, t: torch.Tensor) -> bool:
        return t.device != CPU or self._drawn_in(t.dtype) is not t.dtype

    def _on_cpu(self, value: Any) -> Any:
        """A tensor, or a generator, as it is on the CPU; whatever else as it is."""
        if torch.is_tensor(value):
            return value.to(CPU, self._drawn_in(value.dtype)) if self._elsewhere(value) else value
        if isinstance(value, torch.Generator) and value.device != CPU:
            return self._twin(value)
        return value

    def _twin(self, there: torch.Generator) -> torch.Generator:
        """The CPU's generator of a device's, kept, so that it goes on where it was. A device's is known by its seed:
        it comes here as another object each time."""
        key = there.device, there.initial_seed()
        if key not in self._twins:
            self._twins[key] = torch.Generator().manual_seed(key[1])
        return self._twins[key]


class _Plain:
    """An operator whose overload is chosen by its arguments."""

    def __init__(self, packet: Callable[..., torch.Tensor]) -> None:
        self.overloadpacket = packet

    def __call__(self, *args: Any, **kwargs: Any) -> torch.Tensor:
        return self.overloadpacket(*args, **kwargs)

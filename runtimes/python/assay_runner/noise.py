"""Noise that a model draws inside its forward, made the same for its reference.

torch's generators give other numbers for another dtype. A reference in a wider
dtype would hence be about other noise: masks of other patches, other speech. While
it runs, what the operators below draw in the wide dtype is drawn in the model's own
and widened.
"""

from __future__ import annotations

from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

aten = torch.ops.aten
MADE = frozenset({aten.rand, aten.randn, aten.rand_like, aten.randn_like})
FILLED = frozenset({aten.uniform_, aten.normal_, aten.exponential_, aten.bernoulli_, aten.log_normal_, aten.cauchy_})


class Drawn(TorchDispatchMode):
    """Inside, random numbers asked for in ``wide`` are drawn in ``own``."""

    def __init__(self, own: torch.dtype, wide: torch.dtype) -> None:
        super().__init__()
        self._own, self._wide = own, wide

    def __torch_dispatch__(self, func: Any, types: Any, args: tuple = (), kwargs: dict | None = None) -> Any:
        kwargs = dict(kwargs or {})
        packet = func.overloadpacket
        if packet in MADE and self._asks(packet, args, kwargs):
            return func(*args, **{**kwargs, "dtype": self._own}).to(self._wide)
        if packet is aten.bernoulli and args[0].dtype is self._wide:
            return func(args[0].to(self._own), *args[1:], **kwargs).to(self._wide)
        if packet in FILLED and args[0].dtype is self._wide:
            drawn = func(torch.empty_like(args[0], dtype=self._own), *args[1:], **kwargs)
            return args[0].copy_(drawn)
        return func(*args, **kwargs)

    def _asks(self, packet: Any, args: tuple, kwargs: dict) -> bool:
        like = args[0].dtype if args and torch.is_tensor(args[0]) else torch.get_default_dtype()
        return (kwargs.get("dtype") or like) is self._wide

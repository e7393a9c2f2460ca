"""Activations: how many bytes a forward makes, and how many are held at once.

Memory lives from the operator that makes it until nothing refers to it,
just as in a real run: Python itself says when. Weights, buffers and inputs are not
activations. What an operator needs inside itself (a workspace) is not seen.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterable
from typing import Any

import torch

from .trace import Call, storage_key


class Liveness:
    """Follows memory from its making to its end."""

    def __init__(self, held: Iterable[torch.Tensor]) -> None:
        """`held` is what was there before the forward."""
        self._held = {storage_key(t) for t in held}
        self._live: dict[int, tuple[weakref.ref[Any], int]] = {}
        self._now = self.made = self.peak = self.count = 0

    def see(self, call: Call) -> None:
        """Takes in what one call made."""
        if call.view or call.into:
            return
        for tensor in call.outputs:
            self._begin(tensor)
        self.peak = max(self.peak, self._now)

    def _begin(self, tensor: torch.Tensor) -> None:
        key, storage = storage_key(tensor), tensor.untyped_storage()
        if key in self._held or key in self._live:
            return
        size = storage.nbytes()
        self._live[key] = (weakref.ref(storage, lambda _: self._end(key)), size)
        self._now += size
        self.made += size
        self.count += 1

    def _end(self, key: int) -> None:
        self._now -= self._live.pop(key)[1]

    def report(self) -> dict[str, Any]:
        """Sum, peak and number."""
        return {"sum_bytes": self.made, "peak_bytes": self.peak, "tensors": self.count}

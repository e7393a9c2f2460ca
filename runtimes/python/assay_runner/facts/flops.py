"""Floating-point operations, by torch's own formulas for products, convolutions and attention.

A multiplication and an addition are two. Attention is counted whole, also where a
mask hides half of it. Everything else (activations, norms, sums, Fourier transforms,
recurrences written element by element) has no formula: it counts as zero, and is
listed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from torch.utils.flop_counter import flop_registry

from .trace import Call

NOTE = (
    "one multiply-add is two; matrix products, convolutions and attention are counted, attention without regard to "
    "its mask; operators under not_counted have no formula and count as zero"
)


def _mv(matrix: Sequence[int], vector: Sequence[int]) -> int:
    return 2 * matrix[0] * matrix[1]


def _grouped_mm(left: Sequence[int], right: Sequence[int]) -> int:
    """Each row of the left side meets one group's matrix: three axes on a side mean one group each."""
    groups = left[0] if len(left) == 3 and len(right) == 3 else 1
    return 2 * groups * left[-2] * left[-1] * right[-1]


# What torch's table lacks: operator → formula of two tensors' shapes, and which arguments those are. By name, since not
# every release of torch has all of them.
_MORE: dict[str, tuple[Callable[..., int], tuple[int, int]]] = {
    "aten.mv": (_mv, (0, 1)),
    "aten.addmv": (_mv, (1, 2)),
    "aten.dot": (lambda a, b: 2 * a[0], (0, 1)),
    "aten.vdot": (lambda a, b: 2 * a[0], (0, 1)),
    "aten._grouped_mm": (_grouped_mm, (0, 1)),
}
# These compute nothing: they make, copy or move.
_IDLE = {
    "_to_copy", "arange", "cat", "clone", "copy_", "detach", "empty", "empty_like", "fill_", "full", "full_like",
    "index_select", "lift_fresh", "new_empty", "new_full", "new_ones", "new_zeros", "ones", "ones_like",
    "scalar_tensor", "stack", "zeros", "zeros_like", "zero_", "_local_scalar_dense", "embedding", "index", "gather",
    "repeat", "contiguous",
}  # fmt: skip


class Flops:
    """Adds formulas up by operator."""

    def __init__(self) -> None:
        self._counted: Counter[str] = Counter()
        self._others: Counter[str] = Counter()

    def see(self, call: Call) -> None:
        """Adds one call."""
        packet = call.operator._overloadpacket
        name = str(packet)
        if packet in flop_registry:
            self._counted[name] += int(flop_registry[packet](*call.args, **call.kwargs, out_val=call.result))
        elif name in _MORE:
            formula, places = _MORE[name]
            self._counted[name] += formula(*(call.args[i].shape for i in places))
        elif not call.view and name.rpartition(".")[2] not in _IDLE:
            self._others[name] += 1

    @property
    def total(self) -> int:
        """The whole forward's."""
        return sum(self._counted.values())

    def report(self) -> dict[str, Any]:
        """The total, its parts, and what has none."""
        return {
            "total": self.total,
            "by_operator": dict(self._counted.most_common()),
            "not_counted": dict(self._others.most_common()),
            "note": NOTE,
        }

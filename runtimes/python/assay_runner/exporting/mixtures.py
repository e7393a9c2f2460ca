"""Experts whose own code loops over those that were chosen.

Which experts a token goes to, and so how many tokens an expert gets, is known only when the model runs. torch.export
has no loop for that. Inside `dense` such a loop runs over all experts, each sees every token, and what it gives to
those that did not choose it is left out as zeros: the same sums, with more work and with fixed shapes.

The loop itself stays the model's own. All are written alike: `nonzero` finds the experts that are hit, `where` the
slots and tokens that chose one, `index_add_` adds what it gave to them. These three are answered here.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from assay_runner.exporting.notes import Notes
from assay_runner.subjects import experts
from assay_runner.subjects.replacing import replaced

_NONZERO = frozenset({torch.nonzero, torch.Tensor.nonzero})
_WHERE = torch.where  # torch's own: transformers' exporter puts another one in its place while it traces


@contextmanager
def dense(model: torch.nn.Module, notes: Notes) -> Iterator[None]:
    """Inside, loops over chosen experts run over all of them; which layers have one is noted."""
    with ExitStack() as stack:
        for name, module, count in experts.layers(model):
            note = functools.partial(notes.mixture, name)
            stack.enter_context(replaced(module, "forward", functools.partial(_densely, count, note)))
        yield


def _densely(count: int, note: Callable[[], None], own: Callable[..., Any]) -> Callable[..., Any]:
    def forward(*args: Any, **kwargs: Any) -> Any:
        with _Dense(count, note):
            return own(*args, **kwargs)

    return forward


class _Dense(TorchFunctionMode):
    """Answers what one layer of this many experts asks."""

    def __init__(self, count: int, note: Callable[[], None]) -> None:
        super().__init__()
        self._count, self._note = count, note
        self._chose: torch.Tensor | None = None  # by slot and token, whether the expert whose turn it is was chosen

    def __torch_function__(self, func: Any, types: Any, args: tuple = (), kwargs: dict | None = None) -> Any:
        kwargs = kwargs or {}
        if func in _NONZERO and not kwargs.get("as_tuple") and self._is_hits(args[0]):
            self._note()
            return torch.arange(self._count)[:, None]
        if func is _WHERE and len(args) == 1 and args[0].dim() == 2:
            return self._all_tokens(args[0])
        if func is torch.Tensor.index_add_ and self._chose is not None:
            states, _, _, given = args  # the tokens are all, in their order, once for each slot
            given = given.reshape(*self._chose.shape, -1)
            return states.add_(torch.where(self._chose[..., None], given, torch.zeros_like(given)).sum(0))
        return func(*args, **kwargs)

    def _is_hits(self, tensor: torch.Tensor) -> bool:
        """Whether a tensor has an element for each expert. Some have one more, for tokens that are masked."""
        return tensor.dim() == 1 and tensor.shape[0] in (self._count, self._count + 1)

    def _all_tokens(self, chosen: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Every slot with every token: a token may choose an expert in more than one slot."""
        slots, tokens = chosen.shape
        self._chose = chosen > 0
        return torch.arange(slots).repeat_interleave(tokens), torch.arange(tokens).repeat(slots)

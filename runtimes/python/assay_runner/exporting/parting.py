"""Layers that have experts for words and others for what is seen.

Such a layer parts its tokens by their marks, gives each part to its own experts and puts the results back; where no
token is marked it asks first. How many tokens a part has is known only when the model runs. Inside `together` both sets
of experts see every token, and the marks say whose answer counts: experts look at one token at a time.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import torch

from assay_runner.exporting.following import known
from assay_runner.subjects.replacing import replaced

_WORDS, _SEEN = "text_moe", "vision_moe"


@contextmanager
def together(model: torch.nn.Module) -> Iterator[None]:
    """Inside, layers that part tokens by marks that are traced ask no question."""
    with ExitStack() as stack:
        for module in model.modules():
            if isinstance(getattr(module, _WORDS, None), torch.nn.Module) and hasattr(module, _SEEN):
                stack.enter_context(replaced(module, "forward", functools.partial(_unparted, module)))
        yield


def _unparted(module: torch.nn.Module, own: Callable[..., Any]) -> Callable[..., Any]:
    def forward(hidden_states: torch.Tensor, moe_mm_token_type_ids: torch.Tensor | None = None) -> Any:
        marks = moe_mm_token_type_ids
        if marks is None or known(marks):
            return own(hidden_states, marks)
        with replaced(getattr(module, _WORDS), "forward", lambda words: _both(words, getattr(module, _SEEN), marks)):
            return own(hidden_states, None)

    return forward


def _both(words: Callable[..., Any], seen: Callable[..., Any], marks: torch.Tensor) -> Callable[..., Any]:
    marked = marks.reshape(-1, 1) != 0

    def chosen(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        rows = torch.where(marked, b.reshape(marked.shape[0], -1), a.reshape(marked.shape[0], -1))
        return rows.reshape(a.shape)

    def forward(hidden_states: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return tuple(map(chosen, words(hidden_states), seen(hidden_states)))

    return forward

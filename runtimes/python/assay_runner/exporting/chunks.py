"""Linear attention that goes through a sequence chunk by chunk.

The library fills a sequence up with zeros to whole chunks of 64, and inside a chunk goes from row to row: a graph gets
nodes for each of them, most for nothing where the sequence is shorter. Inside `fitted` a chunk is no longer than the
sequence: what it is filled up with adds nothing, neither to what comes out nor to the state.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import torch

from assay_runner.subjects.replacing import replaced

_SIZE = "chunk_size"
_RULE = ("query", "key", "value", "g", "beta", _SIZE)  # what such a function is told, in this order
_SEQUENCE = 1  # the axis of queries


@contextmanager
def fitted(model: torch.nn.Module) -> Iterator[None]:
    """Inside, chunks are no longer than what goes through them."""
    with ExitStack() as stack:
        for module in {sys.modules[type(part).__module__] for part in model.modules()}:
            for name, own in list(vars(module).items()):
                if _is_rule(own):
                    stack.enter_context(replaced(module, name, _fitted))
        yield


def _is_rule(own: Any) -> bool:
    return inspect.isfunction(own) and tuple(inspect.signature(own).parameters)[: len(_RULE)] == _RULE


def _fitted(own: Callable[..., Any]) -> Callable[..., Any]:
    usual = inspect.signature(own).parameters[_SIZE].default

    def rule(query: torch.Tensor, *args: Any, **kwargs: Any) -> Any:
        length = query.shape[_SEQUENCE]
        if type(length) is int and len(args) < len(_RULE) - 1:
            kwargs[_SIZE] = min(kwargs.get(_SIZE, usual), length)
        return own(query, *args, **kwargs)

    return rule

"""A model with narrow weights that computes in a wider dtype, a layer at a time.

Widening a model whole needs memory for all its wide weights. Here the weights of each entry of a list of layers are
widened while that layer runs, and those outside of all lists while the model does: what is computed is the same, in
the memory of a layer. A tracer that follows such a run sees narrow weights and a conversion of each.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import torch

from assay_runner.subjects.replacing import replaced

Owned = list[tuple[dict[str, Any], str]]
"""Tables of tensors, parameters or buffers of one module each, and the names in them."""


@contextmanager
def widened(model: torch.nn.Module, dtype: torch.dtype) -> Iterator[None]:
    """Inside, a call of the model computes in the dtype."""
    units = [model, *_layers(model)]
    with ExitStack() as stack:
        for unit in units:
            owned = _owned(unit, frozenset(map(id, units)) - {id(unit)}, dtype)
            stack.enter_context(replaced(unit, "forward", lambda own, owned=owned: _wide(own, owned, dtype)))
        yield


def _layers(module: torch.nn.Module) -> Iterator[torch.nn.Module]:
    """The entries of the outermost lists."""
    for child in module.children():
        yield from child if isinstance(child, torch.nn.ModuleList) else _layers(child)


def _owned(module: torch.nn.Module, others: frozenset[int], dtype: torch.dtype) -> Owned:
    """The narrow tensors of a module and its parts, without those of other units."""
    found = [
        (table, name)
        for table in (module._parameters, module._buffers)
        for name, t in table.items()
        if t is not None and t.is_floating_point() and t.dtype.itemsize < dtype.itemsize
    ]
    for child in module.children():
        if id(child) not in others:
            found += _owned(child, others, dtype)
    return found


def _wide(forward: Callable[..., Any], owned: Owned, dtype: torch.dtype) -> Callable[..., Any]:
    @functools.wraps(forward)
    def run(*args: Any, **kwargs: Any) -> Any:
        narrow = [table[name] for table, name in owned]
        try:
            for (table, name), t in zip(owned, narrow, strict=True):
                table[name] = t.to(dtype)
            return forward(*args, **kwargs)
        finally:
            for (table, name), t in zip(owned, narrow, strict=True):
                table[name] = t

    return run

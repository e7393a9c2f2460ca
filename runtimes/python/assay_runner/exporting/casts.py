"""Modules that a forward moves to where they are already.

A few models convert one of their layers to a dtype each time they are called. While a model is traced its parameters
stand for others and cannot be exchanged, not even for themselves.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import chain
from typing import Any

import torch

from assay_runner.subjects.replacing import replaced
from assay_runner.workarounds import Fault

FAULT = Fault(
    "torch_export_stops_at_conversions",
    "torch",
    ("2.15.0",),
    "torch.export stops where a module is converted to the dtype and device that it has",
)


@contextmanager
def unneeded() -> Iterator[None]:
    """Inside, a conversion that changes no dtype and no device of a module leaves it alone."""
    with replaced(torch.nn.Module, "_apply", _where_needed):
        yield


def _where_needed(own: Callable[..., torch.nn.Module]) -> Callable[..., torch.nn.Module]:
    def apply(module: torch.nn.Module, convert: Callable[[torch.Tensor], torch.Tensor], *args: Any) -> torch.nn.Module:
        if all(_same(t, convert(t)) for t in chain(module.parameters(), module.buffers())):
            return module
        return own(module, convert, *args)

    return apply


def _same(before: torch.Tensor, after: torch.Tensor) -> bool:
    return before.dtype == after.dtype and before.device == after.device

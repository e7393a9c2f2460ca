"""What a model counts of a selection to check its inputs.

Models compare how many numbers a mask selects with how many there are to be put there, and refuse inputs for which the
two differ. How many a traced mask selects is not known, but the check has passed where the expected outputs were made,
and a graph is of no use for inputs that its model refuses. So such a count is taken for equal to whatever it is
compared with. It can be used for nothing else, nor compared with none or one, which is no check.
"""

from __future__ import annotations

import sys
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from assay_runner.exporting.following import known

_COUNTS = frozenset({torch.Tensor.numel, torch.numel, torch.Tensor.nelement})
_GET = torch.Tensor.__getitem__
_OTHERS = ("torch.", "transformers.exporters.")
_HANDLER = "__torch_function__"
_SELECTED = "_assay_selected"  # on what a traced mask selects


class Count:
    """How many numbers a traced mask selects."""

    __hash__ = None  # type: ignore[assignment]

    def __eq__(self, other: object) -> bool:
        if isinstance(other, int) and other < 2:
            raise TypeError("what a mask selects is compared with a fixed number")
        return True

    def __ne__(self, other: object) -> bool:
        return not self == other


class Checked(TorchFunctionMode):
    """Inside, counts of what traced masks select pass the model's own checks."""

    def __torch_function__(self, func: Any, types: Any, args: tuple = (), kwargs: dict | None = None) -> Any:
        if func in _COUNTS and getattr(args[0], _SELECTED, False) and _asked_by_model():
            return Count()
        result = func(*args, **(kwargs or {}))
        if func is _GET and _masks(args[1]):
            setattr(result, _SELECTED, True)
        return result


def _asked_by_model() -> bool:
    """Whether a model asks, and not what carries out or exports its functions. Other modes may stand between."""
    frame = sys._getframe(2)
    while frame.f_code.co_name == _HANDLER and frame.f_back is not None:
        frame = frame.f_back
    return not frame.f_globals.get("__name__", "").startswith(_OTHERS)


def _masks(index: Any) -> bool:
    """Whether an index is a traced mask, and nothing else."""
    return isinstance(index, torch.Tensor) and index.dtype is torch.bool and index.dim() > 0 and not known(index)

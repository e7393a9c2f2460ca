"""Functions of torch that exporters write as loops over sequences, or not at all, made of plainer ones.

Engines other than ONNX Runtime have no sequences, and where the sizes are fixed none are needed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch.nn import functional
from torch.overrides import TorchFunctionMode

from assay_runner.workarounds import Fault

_ONNXSCRIPT, _SEEN = "onnxscript", ("0.7.2",)
FAULTS = (
    Fault("onnxscript_writes_bags_as_loops", _ONNXSCRIPT, _SEEN, "embedding_bag of even bags becomes a loop"),
    Fault("onnxscript_has_no_all_true", _ONNXSCRIPT, _SEEN, "a model's own check of a tensor stops the export"),
)


class Functions(TorchFunctionMode):
    """Inside, calls of the table's functions are made of plainer ones, where they can be."""

    def __torch_function__(self, func: Any, types: Any, args: tuple = (), kwargs: dict | None = None) -> Any:
        kwargs = kwargs or {}
        plainer = _PLAINER.get(func)
        found = plainer(*args, **kwargs) if plainer else None
        return func(*args, **kwargs) if found is None else found


def _bags(
    input: torch.Tensor,
    weight: torch.Tensor,
    offsets: torch.Tensor | None = None,
    mode: str = "mean",
    per_sample_weights: torch.Tensor | None = None,
    max_norm: float | None = None,
    padding_idx: int | None = None,
    **rest: Any,
) -> torch.Tensor | None:
    """embedding_bag over as many rows in each sum: a lookup, a product, a sum. The rest is for gradients."""
    uneven = input.dim() != 2 or offsets is not None or padding_idx is not None
    if uneven or max_norm is not None or mode not in ("sum", "mean"):
        return None
    rows = functional.embedding(input, weight)
    if per_sample_weights is not None:
        rows = rows * per_sample_weights.unsqueeze(-1)
    return rows.sum(1) if mode == "sum" else rows.mean(1)


def _passed(condition: torch.Tensor) -> torch.Tensor:
    """What a model's own check of a tensor comes to: it passed when the outputs were made that are expected here."""
    return torch.ones((), dtype=torch.bool)


_PLAINER: Mapping[Any, Callable[..., torch.Tensor | None]] = {
    functional.embedding_bag: _bags,
    torch.Tensor._is_all_true: _passed,  # which only torch._check_tensor_all asks
}

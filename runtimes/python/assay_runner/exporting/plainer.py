"""Functions of torch that exporters write as loops over sequences, or not at all, made of plainer ones, and those that
engines round otherwise.

Engines other than ONNX Runtime have no sequences, and where the sizes are fixed none are needed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch.nn import functional
from torch.overrides import TorchFunctionMode

from assay_runner.workarounds import Fault

_ONNXSCRIPT, _SEEN = "onnxscript", ("0.7.2",)
FAULTS = (
    Fault("onnxscript_writes_bags_as_loops", _ONNXSCRIPT, _SEEN, "embedding_bag of even bags becomes a loop"),
    Fault("onnxscript_has_no_all_true", _ONNXSCRIPT, _SEEN, "a model's own check of a tensor stops the export"),
    Fault(
        "onnxruntime_takes_the_pixel_before_the_nearest",
        "onnxruntime",
        ("1.31.1",),
        "Resize divides by a rounded scale: of 56 pixels, the third of four is number 27 and not 28",
    ),
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


def _nearest(
    input: torch.Tensor,
    size: int | Sequence[int] | None = None,
    scale_factor: float | Sequence[float] | None = None,
    mode: str = "nearest",
    **rest: Any,
) -> torch.Tensor | None:
    """interpolate that takes the nearest pixels, where it does not just repeat them: a choice of places, axis by axis,
    that torch itself makes."""
    if size is None or scale_factor is not None or mode not in ("nearest", "nearest-exact"):
        return None
    before = tuple(input.shape[2:])
    after = tuple(size) if isinstance(size, (tuple, list)) else (size,) * len(before)
    if not all(type(number) is int for number in (*before, *after)) or not any(
        b % a for a, b in zip(before, after, strict=True)
    ):
        return None
    for axis, (given, wanted) in enumerate(zip(before, after, strict=True), start=2):
        places = functional.interpolate(torch.arange(given, dtype=torch.float64)[None, None], size=wanted, mode=mode)
        input = input.index_select(axis, places[0, 0].to(torch.int64))
    return input


def _passed(condition: torch.Tensor) -> torch.Tensor:
    """What a model's own check of a tensor comes to: it passed when the outputs were made that are expected here."""
    return torch.ones((), dtype=torch.bool)


_PLAINER: Mapping[Any, Callable[..., torch.Tensor | None]] = {
    functional.embedding_bag: _bags,
    functional.interpolate: _nearest,
    torch.Tensor._is_all_true: _passed,  # which only torch._check_tensor_all asks
}

"""What fits into a browser by its size alone: three limits, and the largest model that each dtype leaves room for.

A file is one array of the page, and an array holds 2 GB in every browser. ONNX Runtime Web has 4 GB of WebAssembly's
memory in all, through which every weight goes. And WebGPU binds no buffer larger than its adapter says, which the
largest single tensor must fit into: in a language model the embedding. No formula says what an engine needs besides the
weights: a model that fits by these limits may still not run.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from assay_runner.errors import TooLarge

from . import dtypes

ARRAY_BYTES = 2**31 - 1
WASM_BYTES = 2**32

_SCALE = 4  # bytes that each block of weights has beside them, and a zero point as wide as a weight
BYTES: Mapping[str, float] = {
    "fp32": 4.0,
    "fp16": 2.0,
    "w8": 1.0 + (_SCALE + 1.0) / dtypes.BLOCK,
    "w4": 0.5 + (_SCALE + 0.5) / dtypes.BLOCK,
}
"""The dtype → bytes of a weight in a file."""

_TENSOR = "maxStorageBufferBindingSize"


@dataclass(frozen=True)
class Weights:
    """What a model brings: the bytes of each of its files, and those of its largest tensor."""

    files: tuple[int, ...]
    tensor: int

    def beside(self, other: Weights) -> Weights:
        """Both together: the graphs of one model, each with weights of its own."""
        return Weights(self.files + other.files, max(self.tensor, other.tensor))


def largest(dtype: str, graphs: int = 1) -> int:
    """How many parameters a model has at most that fits, with as many graphs that hold its weights."""
    return int(min(ARRAY_BYTES, WASM_BYTES / graphs) / BYTES[dtype])


def confirm(weights: Weights, dtype: str, graphs: int, adapter: Mapping[str, int] | None) -> None:
    """Raises where a model does not fit, before anything of it is loaded."""
    if reason := _reason(weights, adapter or {}):
        raise TooLarge(f"{reason}; {stated(dtype, graphs)}")


def _reason(weights: Weights, adapter: Mapping[str, int]) -> str:
    if max(weights.files, default=0) > ARRAY_BYTES:
        return f"a file of the model has {_gb(max(weights.files))}, and a browser's array holds {_gb(ARRAY_BYTES)}"
    if sum(weights.files) > WASM_BYTES:
        return f"the model has {_gb(sum(weights.files))}, and WebAssembly {_gb(WASM_BYTES)} in all"
    if _TENSOR in adapter and weights.tensor > adapter[_TENSOR]:
        return (
            f"a tensor of the model has {_gb(weights.tensor)}, and this adapter binds {_gb(adapter[_TENSOR])} at once"
        )
    return ""


def stated(dtype: str, graphs: int) -> str:
    """What fits, in words: in the dtype that was asked for, and in those that need less."""
    smaller = [name for name in BYTES if BYTES[name] < BYTES[dtype]]
    rows = [f"{largest(name, graphs) / 1e9:.1f} in {name}" for name in (dtype, *smaller)]
    how = " as two graphs" if graphs == 2 else ""
    return f"by size alone models of at most this many billion parameters fit into a browser{how}: {', '.join(rows)}"


def _gb(count: int) -> str:
    return f"{count / 1e9:.1f} GB"

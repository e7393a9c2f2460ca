"""What torch's list of kernels does not say of a device, as rows with reasons."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Target:
    """A platform as its operators are derived."""

    key: str  # torch's dispatch key
    title: str
    lacks: Mapping[str, str] = field(default_factory=dict)  # dtype → why no tensor of it can be there
    instead: Mapping[str, str] = field(default_factory=dict)  # operator of the CPU's own → what is called there
    elsewhere: Mapping[str, str] = field(default_factory=dict)  # operator → why torch runs it on the CPU
    # (operator, dtype of its first tensor) → why that kernel refuses it
    refuses: Mapping[tuple[str, str], str] = field(default_factory=dict)


_NO_DOUBLE = "Metal has no 64-bit floating point: torch refuses such tensors"
_OWN_FALLBACK = "torch registers its CPU fallback for it, with or without PYTORCH_ENABLE_MPS_FALLBACK"
_HALF = ("float16", "bfloat16")

TARGETS: dict[str, Target] = {
    "cpu": Target("CPU", "the CPU"),
    "cuda": Target("CUDA", "CUDA"),
    # PyTorch's ROCm build is made from the sources of the CUDA kernels: it has the same dispatch key and entries.
    "rocm": Target("CUDA", "ROCm"),
    "mps": Target("MPS", "MPS"),
}

# Products that torch refuses, on every device, when their floating tensors are not of one dtype; tracing without
# memory does not always notice.
SAME_DTYPE = frozenset({"aten.addmm.default", "aten.mm.default", "aten.bmm.default", "aten.baddbmm.default"})

# What torch says when dtypes do not go together, wherever it runs: a trace that ends so would end so on any device.
MISMATCH = re.compile(r"same dtype|expected scalar type|should be the same|expected m1 and m2|Index put requires")

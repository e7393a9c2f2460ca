"""What torch's list of kernels does not say about a device, as rows with reasons."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Target:
    """A platform as its operators are derived."""

    key: str  # torch's dispatch key; "" for an engine, which has a list of its own (`listed`)
    title: str
    lacks: Mapping[str, str] = field(default_factory=dict)  # dtype → why no tensor of it can be there
    instead: Mapping[str, str] = field(default_factory=dict)  # operator of the CPU's own → what is called there
    elsewhere: Mapping[str, str] = field(default_factory=dict)  # operator → why torch runs it on the CPU


_NO_DOUBLE = "Metal has no 64-bit floating point, and torch makes no such tensor there"
_FALLS_BACK = "torch has no kernel for it there and falls back to the CPU by itself"
_ATTENTION = "aten._scaled_dot_product_flash_attention_for_cpu.default"
_RNN = "aten.mkldnn_rnn_layer.default"
_IN_GRAPHS = {_ATTENTION: "aten.scaled_dot_product_attention.default", _RNN: "aten.lstm.input"}

TARGETS: dict[str, Target] = {
    "cpu": Target("CPU", "the CPU"),
    "cuda": Target(
        "CUDA",
        "CUDA",
        instead={
            _ATTENTION: "aten._scaled_dot_product_efficient_attention.default",
            _RNN: "aten._cudnn_rnn.default",
        },
    ),
    # PyTorch's ROCm build is made from the sources of the CUDA kernels: it has the same dispatch key and entries.
    "rocm": Target(
        "CUDA",
        "ROCm",
        instead={
            _ATTENTION: "aten._scaled_dot_product_efficient_attention.default",
            _RNN: "aten.miopen_rnn.default",
        },
    ),
    "mps": Target(
        "MPS",
        "MPS",
        lacks={"float64": _NO_DOUBLE, "complex128": _NO_DOUBLE},
        instead={
            _ATTENTION: "aten._scaled_dot_product_attention_math_for_mps.default",
            _RNN: "aten._lstm_mps.default",
        },
        elsewhere={
            "aten.embedding_renorm_.default": _FALLS_BACK,
            "aten.linalg_svd.default": _FALLS_BACK,
            "aten._linalg_svd.default": _FALLS_BACK,
        },
    ),
    # Engines of graphs are here, where there is nothing to derive: with them the method itself is put to the test.
    "onnxruntime": Target("", "ONNX Runtime", instead=_IN_GRAPHS),
    "openvino": Target("", "OpenVINO", instead=_IN_GRAPHS),
}

# Products that torch refuses, on every device, when their floating tensors are not of one dtype: tracing without
# memory does not always notice.
SAME_DTYPE = frozenset(
    f"aten.{name}.default"
    for name in ("addmm", "mm", "bmm", "baddbmm", "addmv", "mv", "dot", "convolution", "_grouped_mm", "linear")
)

# What torch says when dtypes do not go together, wherever it runs: a trace that ends so would end so on any device.
MISMATCH = re.compile(
    r"same dtype|expected scalar type|should be the same|expected m1 and m2|Index put requires"
    r"|Type promoting not supported"
)

# What the trace says when the model looks at a value, of which tensors without memory have none.
VALUES = re.compile(r"DataDependentOutputException|DynamicOutputShapeException|GuardOnDataDependent")

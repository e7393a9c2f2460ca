"""What each dtype of a cell asks of OpenVINO: a table, and the question whether a device has it.

A precision is only a hint to OpenVINO: a CPU without fp16 that is asked for it computes in bf16 and does not say so.
So a device is asked first what it can compute in, and the compiled model afterwards what it does compute in.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from assay_runner.errors import UnsupportedDType
from assay_runner.workarounds import Fault

FAULT = Fault(
    "openvino_takes_other_precisions",
    "openvino",
    ("2026.4.1",),
    "a CPU without fp16 that is asked for it refuses nothing",
)


@dataclass(frozen=True)
class Precision:
    """A row: what to compute in, what the device must be capable of, and what is done to the model before."""

    capability: str  # as OPTIMIZATION_CAPABILITIES names it; "" where every device will do
    hint: str  # of INFERENCE_PRECISION_HINT; "" is the widest that the device has
    half_weights: bool = False  # the model is kept with weights of 16 bits
    quantised: str = ""  # a row of openvino_quantising.METHODS


PRECISIONS = {
    "fp32": Precision("FP32", "f32"),
    "fp16": Precision("FP16", "f16", half_weights=True),
    "bf16": Precision("BF16", "bf16"),
    "int8": Precision("INT8", "", quantised="int8"),
    "w8": Precision("", "", quantised="w8"),
    "w4": Precision("", "", quantised="w4"),
}
"""The cell's dtype → what it is here."""

_EXECUTED = "runtimePrecision"  # what a node of a compiled graph computes in
_WIDEST = (("FP32", "f32"), ("FP16", "f16"), ("BF16", "bf16"))

DTYPES = {"f32": "fp32", "f16": "fp16", "bf16": "bf16"}
"""A precision, as OpenVINO names it → the dtype that it is."""


def precision(dtype: str, device: str, capabilities: Sequence[str]) -> Precision:
    """The row of a dtype, if the device can compute in it."""
    row = PRECISIONS.get(dtype)
    if row is None or (row.capability and row.capability not in capabilities):
        has = [name for name, r in PRECISIONS.items() if not r.capability or r.capability in capabilities]
        raise UnsupportedDType(
            f"OpenVINO's device {device} does not compute in {dtype} here: it has {', '.join(has)} "
            f"(its capabilities are {', '.join(capabilities)})"
        )
    return row


def hint(row: Precision, capabilities: Sequence[str]) -> str:
    """What to ask the device to compute in."""
    return row.hint or next((kind for capability, kind in _WIDEST if capability in capabilities), "f32")


def confirm(asked: str, told: Any, dtype: str, device: str) -> None:
    """Raises if the compiled model says that it does not compute in what was asked."""
    kind = told.get_type_name()
    if kind != asked:
        raise UnsupportedDType(f"OpenVINO's device {device} was asked for {dtype} and computes in {kind}")


def executed(compiled: Any) -> dict[str, int]:
    """Precision → how many nodes of the compiled graph compute in it, as the device tells."""
    told = (op.get_rt_info() for op in compiled.get_runtime_model().get_ops())
    return dict(Counter(info[_EXECUTED].astype(str) for info in told if _EXECUTED in info).most_common())

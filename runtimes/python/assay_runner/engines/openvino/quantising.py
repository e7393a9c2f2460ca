"""Quantised models for OpenVINO, made by NNCF.

Weights of 8 bits are rounded without any data. Activations have ranges and weights of 4 bits have scales that NNCF
finds on inputs: they are drawn by the recipe's own rule, and none of them is the input that is checked afterwards.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import openvino as ov
import torch

from assay_runner.engines.contract import Exported
from assay_runner.errors import LibraryAbsent
from assay_runner.exporting.quieting import quiet
from assay_runner.machine import instructions
from assay_runner.subjects.replacing import replaced
from assay_runner.workarounds import Fault

FAULTS = (
    Fault(
        "nncf_runs_on_all_cores", "nncf", ("3.4.0",), "models are run to be quantised, with no bound of their threads"
    ),
    Fault("openvino_sums_of_8_bits_overflow", "openvino", ("2026.4.1",), "without VNNI int8 products overflow unseen"),
)

SETS = 32  # of inputs to see the ranges of activations on
FEW = 8  # of inputs to fit scales on, which takes far longer for each
GROUP = 32  # weights that share a scale where they have 4 bits: tiny models have rows no longer than that


def quantise(model: ov.Model, method: str, exported: Exported) -> ov.Model:
    """The model quantised by a row of METHODS."""
    with quiet(logging.WARNING), replaced(ov.Core, "compile_model", _bounded):  # which ov.compile_model calls too
        return METHODS[method](model, exported)


def _bounded(compile_model: Callable[..., Any]) -> Callable[..., Any]:
    """NNCF runs models to see their activations, on all cores: they have this child's share instead."""

    def bounded(core: ov.Core, model: Any, device_name: Any = None, config: Any = None, **kwargs: Any) -> Any:
        threads = {"INFERENCE_NUM_THREADS": torch.get_num_threads()}
        return compile_model(core, model, device_name, {**(config or {}), **threads}, **kwargs)

    return bounded


def suited(method: str, device: str) -> str:
    """The row of METHODS that a device computes right. A CPU without VNNI adds products up in 16 bits, where two large
    ones overflow: a tiny BERT had 15 dB instead of 32. There weights have 7 bits of their 8."""
    overflows = method == "int8" and device in ("CPU", "AUTO") and instructions.sums_saturate()
    return "int8 of 7 bits" if overflows else method


def nncf_version() -> str:
    """The version that quantises, which a quantised model's key holds."""
    try:
        return version("nncf")
    except PackageNotFoundError as error:
        raise LibraryAbsent("quantised models for OpenVINO are made by nncf, which is not installed") from error


def _weights8(model: ov.Model, _exported: Exported) -> ov.Model:
    import nncf

    return nncf.compress_weights(model, mode=nncf.CompressWeightsMode.INT8_SYM)


def _weights4(model: ov.Model, exported: Exported) -> ov.Model:
    import nncf

    # Sixteen levels are so few that their scales are fitted to what the layers see: that is worth up to 14 dB. The
    # first and the last layer keep 8 bits, as NNCF does by itself: they carry most of the error.
    return nncf.compress_weights(
        model,
        mode=nncf.CompressWeightsMode.INT4_ASYM,
        group_size=GROUP,
        ratio=1.0,
        dataset=nncf.Dataset(exported.calibration(FEW)),
        scale_estimation=True,
    )


def _full(model: ov.Model, exported: Exported, narrow: bool = False) -> ov.Model:
    import nncf

    fix = nncf.OverflowFix.ENABLE if narrow else None  # None is NNCF's own choice: the first layer
    return nncf.quantize(
        model,
        nncf.Dataset(exported.calibration(SETS)),
        subset_size=SETS,
        model_type=nncf.ModelType.TRANSFORMER,
        advanced_parameters=nncf.AdvancedQuantizationParameters(overflow_fix=fix),
    )


METHODS: dict[str, Callable[[ov.Model, Exported], ov.Model]] = {
    "w8": _weights8,
    "w4": _weights4,
    "int8": _full,
    "int8 of 7 bits": partial(_full, narrow=True),
}
"""What a precision names → what makes it."""

"""Rewriting steps: what makes a graph friendlier to accelerators and keeps its numbers.

A step is a function that changes an ONNX model in place and returns how often it did. They run in the table's order,
each once; the table says why each one is there, and a graph's manifest names those that changed something.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import onnx_ir

from assay_runner.exporting.steps import (
    comparisons,
    dead,
    einsums,
    equalities,
    folding,
    gathers,
    idle,
    indices,
    joins,
    nans,
    pools,
    powers,
    repeats,
    spectra,
    ties,
    wraps,
)
from assay_runner.workarounds import Fault


@dataclass(frozen=True)
class Step:
    """One step of the table: there for the fault of a library, or for a reason of its own."""

    name: str
    reason: Fault | str
    apply: Callable[[onnx_ir.Model], int]

    @property
    def why(self) -> str:
        """The reason in words."""
        return self.reason.wrong if isinstance(self.reason, Fault) else self.reason


_OPENVINO, _SEEN = "openvino", ("2026.4.1",)
_RUNTIME, _RUNTIME_SEEN = "onnxruntime", ("1.31.1",)
_QNN, _QNN_SEEN = "onnxruntime-qnn", ("2.7.0",)

STEPS = (
    Step("constants folded", "masks and positions of fixed shapes need no computing", folding.fold),
    Step(
        "gathers of everything are reshapes",
        Fault("qnn_gathers_no_truth_values", _QNN, _QNN_SEEN, "QNN cannot gather booleans"),
        gathers.to_reshapes,
    ),
    Step("repeats of one element are expanded", "ONNX Runtime Web tiles no booleans on a GPU", repeats.to_expands),
    Step("sums over products are matrix products", einsums.FEW, einsums.to_products),
    Step(
        "windows of pools clipped",
        Fault("openvino_refuses_large_windows", _OPENVINO, _SEEN, "OpenVINO refuses a window larger than its image"),
        pools.clip,
    ),
    Step(
        "zeros before pools joined",
        Fault(
            "onnxruntime_pools_without_zeros", _RUNTIME, _RUNTIME_SEEN, "ONNX Runtime drops zeros padded before MaxPool"
        ),
        pools.join_zeros,
    ),
    Step(
        "circular pads are slices",
        Fault("openvino_has_no_circular_pads", _OPENVINO, _SEEN, "OpenVINO cannot pad with values from the other end"),
        wraps.to_slices,
    ),
    Step(
        "spectra along the first axis",
        Fault("openvino_transforms_along_one_axis", _OPENVINO, _SEEN, "OpenVINO transforms along no other axis"),
        spectra.along_the_first,
    ),
    Step(
        "sorting without ties",
        Fault("openvino_orders_no_ties", _OPENVINO, _SEEN, "OpenVINO leaves equal values in no fixed order"),
        ties.to_places,
    ),
    Step(
        "comparisons of quotients turned round",
        Fault("openvino_finds_nan_greater", _OPENVINO, _SEEN, "OpenVINO finds NaN greater than every number"),
        comparisons.turn,
    ),
    Step(
        "truth values compared as numbers",
        Fault("qnn_compares_no_truth_values", _QNN, _QNN_SEEN, "QNN cannot compare booleans, and neither can WebNN"),
        equalities.compare_numbers,
    ),
    Step("splits that undo a join removed", "OpenVINO fails on some, and all cost copies", joins.undo),
    Step(
        "small powers are products",
        Fault(
            "qnn_finishes_no_norm_of_powers", _QNN, _QNN_SEEN, "QNN's HTP cannot finalise an RMS norm written with Pow"
        ),
        powers.to_products,
    ),
    Step("idle nodes removed", "they change nothing and cost a copy on engines that keep them", idle.remove),
    Step("idle guards against NaN removed", "no row of these softmaxes can be fully masked unnoticed", nans.remove),
    Step("indices in 32 bits", "accelerators have no 64-bit integers", indices.narrow),
    Step("dead nodes removed", "nothing uses them", dead.remove),
)


def apply(model: onnx_ir.Model, steps: Sequence[Step] = STEPS) -> list[dict[str, Any]]:
    """Applies steps, each once and in order, and gives those that changed something."""
    done = [(step, step.apply(model)) for step in steps]
    return [{"name": step.name, "count": count, "why": step.why} for step, count in done if count]


def joined(*parts: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """What was done to several graphs of one model: each step once, with the sum of its counts."""
    total: dict[str, dict[str, Any]] = {}
    for row in (row for part in parts for row in part):
        known = total.setdefault(row["name"], {**row, "count": 0})
        known["count"] += row["count"]
    return list(total.values())

"""The ways in which OpenVINO is given a model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from assay_runner.engines.contract import infers
from assay_runner.engines.formats import ONNX, Attempt, Form
from assay_runner.subjects import generation
from assay_runner.workarounds import Fault

STATEFUL = Form("openvino-stateful", "torch", "engines.openvino.stateful.write", ("openvino",), one_call=False)
DIRECT = Form("openvino-direct", "torch", "engines.openvino.direct.first_good", ("openvino",))
NARROW = Form("openvino-narrow", "torch", "engines.openvino.narrow.write", ("openvino",), narrow=True)

# OpenVINO's CPU compiles parts of a graph to code of their own ("snippets"). For some graphs of attention that code is
# wrong, and for others it is never finished.
_NO_SNIPPETS = {"SNIPPETS_MODE": "DISABLE"}
SNIPPETS = Fault("openvino_snippets_are_wrong", "openvino", ("2026.4.1",), "snippets break some graphs of attention")

_USUAL: Mapping[str, tuple[Attempt, ...]] = {
    "": (Attempt(ONNX), Attempt(ONNX, _NO_SNIPPETS), Attempt(DIRECT)),
    "onnx": (Attempt(ONNX), Attempt(ONNX, _NO_SNIPPETS)),
    "torch": (Attempt(DIRECT),),
}
"""The cell's `via` → its attempts."""

_TOO_LARGE: Mapping[tuple[str, str], tuple[Attempt, ...]] = {
    ("", "w8"): (Attempt(NARROW, _NO_SNIPPETS),),
    ("torch", "w8"): (Attempt(NARROW, _NO_SNIPPETS),),
}
"""The cell's `via` and dtype → what is left for a model that does not fit into memory in 32 bits. Weights of 8
bits are rounded without any data; whatever needs to run the model before it is quantised would have to widen it.
With snippets LLaVA-7B gives NaN, and such a model is too slow to be tried twice."""


def attempts(cell: Mapping[str, Any]) -> tuple[Attempt, ...]:
    """Those for a cell, the first first."""
    via = str(cell.get("via") or "")
    if infers(cell):
        return _USUAL.get(via, (Attempt(ONNX),)) + _TOO_LARGE.get((via, str(cell.get("dtype") or "")), ())
    return (Attempt(STATEFUL),) if cell["mode"] == generation.MODE else ()

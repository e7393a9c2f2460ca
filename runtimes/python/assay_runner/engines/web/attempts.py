"""The ways in which a page is given a model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from assay_runner.engines.contract import infers
from assay_runner.engines.formats import ONNX, Attempt, Form
from assay_runner.subjects import generation

from .rewriting import THROUGH, WIDE

TRANSFORMERS_JS = "transformers.js"
PAIR = Form("onnx-pair", "onnx", "engines.web.cached.write", one_call=False)
FOLDER = Form(
    TRANSFORMERS_JS, TRANSFORMERS_JS, "engines.web.transformers_js.write", one_call=False, library=TRANSFORMERS_JS
)

# Graphs for browsers have whole numbers of 32 bits. A model that needs more of them keeps its own.
_WIDE_INTEGERS = {WIDE: "1"}

_WASM = "wasm"  # a single forward has one attempt there


def attempts(cell: Mapping[str, Any]) -> tuple[Attempt, ...]:
    """Those for a cell, the first first."""
    if cell.get("via") == TRANSFORMERS_JS:  # which runs the model in every mode
        return (Attempt(FOLDER, {THROUGH: TRANSFORMERS_JS}),)
    if cell.get("mode") == generation.MODE:
        return Attempt(PAIR), Attempt(PAIR, _WIDE_INTEGERS)
    if not infers(cell):
        return ()
    return (Attempt(ONNX),) if cell["engine"] == _WASM else (Attempt(ONNX), Attempt(ONNX, _WIDE_INTEGERS))

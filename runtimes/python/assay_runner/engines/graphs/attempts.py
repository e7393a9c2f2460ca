"""The ways in which an engine is given a model, in the order in which they are tried."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from assay_runner.errors import Unsuited
from assay_runner.subjects import generation
from assay_runner.workarounds import Fault

from .formats import DIRECT, FIXED_CACHE, FOLDER, NARROW, ONNX, PAIR, PROGRAM, STATEFUL, Form


@dataclass(frozen=True)
class Attempt:
    """A form of the model, and settings of the engine beside its usual ones."""

    form: Form
    settings: Mapping[str, str] = field(default_factory=dict)

    def label(self) -> str:
        """How the attempt is named in a result."""
        return ", ".join([self.form.via, *(f"{name}={value}" for name, value in self.settings.items())])


# OpenVINO's CPU compiles parts of a graph to code of their own ("snippets"). For some graphs of attention that code is
# wrong, and for others it is never finished.
_NO_SNIPPETS = {"SNIPPETS_MODE": "DISABLE"}
SNIPPETS = Fault("openvino_snippets_are_wrong", "openvino", ("2026.4.1",), "snippets break some graphs of attention")

# Graphs for browsers have whole numbers of 32 bits. A model that needs more of them keeps its own.
_WIDE_INTEGERS = {"WIDE_INTEGERS": "1"}

# The HTP is coarser where it fuses, and its fp16 has a short range: both can be rewritten, at a cost (`qnn.rewrites`).
_CAREFUL = {"numbers": "careful"}

_ATTEMPTS: Mapping[str, Mapping[str, tuple[Attempt, ...]]] = {
    "openvino": {
        "": (Attempt(ONNX), Attempt(ONNX, _NO_SNIPPETS), Attempt(DIRECT)),
        "onnx": (Attempt(ONNX), Attempt(ONNX, _NO_SNIPPETS)),
        "torch": (Attempt(DIRECT),),
    },
    "coreml": {"": (Attempt(PROGRAM),)},
    "ort-web": {"": (Attempt(ONNX), Attempt(ONNX, _WIDE_INTEGERS))},
    "qnn": {"": (Attempt(ONNX), Attempt(ONNX, _CAREFUL))},
}
"""Engine → the cell's `via` → its attempts; an engine that is not here takes ONNX."""

_THROUGH: Mapping[str, tuple[Attempt, ...]] = {"transformers.js": (Attempt(FOLDER, {"THROUGH": "transformers.js"}),)}
"""The cell's `via`, where it names a library that runs the model in every mode → the attempts."""

_TOO_LARGE: Mapping[tuple[str, str, str], tuple[Attempt, ...]] = {
    ("openvino", "", "w8"): (Attempt(NARROW, _NO_SNIPPETS),),
    ("openvino", "torch", "w8"): (Attempt(NARROW, _NO_SNIPPETS),),
}
"""Engine, the cell's `via` and dtype → what is left for a model that does not fit into memory in 32 bits. Weights of 8
bits are rounded without any data; whatever needs to run the model before it is quantised would have to widen it.
With snippets LLaVA-7B gives NaN, and such a model is too slow to be tried twice."""

_MODES: Mapping[tuple[str, str], tuple[Attempt, ...]] = {
    ("openvino", generation.MODE): (Attempt(STATEFUL),),
    ("ort-web", generation.MODE): (Attempt(PAIR), Attempt(PAIR, _WIDE_INTEGERS)),
    ("wasm", generation.MODE): (Attempt(PAIR), Attempt(PAIR, _WIDE_INTEGERS)),
    ("qnn", generation.MODE): (Attempt(FIXED_CACHE), Attempt(FIXED_CACHE, _CAREFUL)),
}
"""Engine and the cell's mode → the attempts for it, where the mode is not plain inference."""


def attempts(cell: Mapping[str, Any]) -> tuple[Attempt, ...]:
    """The attempts for a cell, the first first."""
    engine, mode, via = str(cell["engine"]), cell.get("mode") or "infer", str(cell.get("via") or "")
    if via in _THROUGH:
        return _THROUGH[via]
    if mode == "infer":
        usual = _ATTEMPTS.get(engine, {}).get(via, (Attempt(ONNX),))
        return usual + _TOO_LARGE.get((engine, via, str(cell.get("dtype") or "")), ())
    if (engine, mode) not in _MODES:
        raise Unsuited(f"the engine {engine} has no mode {mode!r}: it has infer")
    return _MODES[engine, mode]

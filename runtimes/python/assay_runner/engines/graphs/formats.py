"""The formats that models are exported to: a table of what writes each. An engine's own are in the engine's folder."""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from pathlib import Path

from assay_runner.errors import BeyondAssay
from assay_runner.exporting.call import Subject
from assay_runner.exporting.graph import Graph


@dataclass(frozen=True)
class Form:
    """A format: who writes it, and whose versions it depends on beside the common ones."""

    kind: str
    via: str  # how an engine then got the model
    writer: str  # module and function of this package
    libraries: tuple[str, ...] = ()
    narrow: bool = False  # made of weights of 16 bits that lie in files, for models that do not fit into memory wider
    one_call: bool = True  # holds a single call of the model; without it, generation too

    def write(self, subject: Subject, folder: Path) -> Graph:
        """Writes the subject into the folder. The writer is imported now.

        Raises ExportFailed where no exporter could, and WrongExport where what they wrote computes something else.
        """
        if self.one_call:
            _confirm_one_call(subject)
        module, _, name = self.writer.rpartition(".")
        return getattr(importlib.import_module(f"assay_runner.{module}"), name)(subject, folder)


ONNX = Form("onnx", "onnx", "exporting.trying.first_good")
FIXED_CACHE = Form("onnx-fixed-cache", "onnx", "engines.qnn.fixed_cache.write", one_call=False)
STATEFUL = Form("openvino-stateful", "torch", "engines.openvino.stateful.write", ("openvino",), one_call=False)
PAIR = Form("onnx-pair", "onnx", "engines.web.cached.write", one_call=False)
FOLDER = Form("transformers.js", "transformers.js", "engines.web.transformers_js.write", one_call=False)
DIRECT = Form("openvino-direct", "torch", "engines.openvino.direct.first_good", ("openvino",))
NARROW = Form("openvino-narrow", "torch", "engines.openvino.narrow.write", ("openvino",), narrow=True)
PROGRAM = Form("torch-program", "torch", "engines.coreml.program.first_good")


def _confirm_one_call(subject: Subject) -> None:
    """Raises BeyondAssay unless the model is run by a single call."""
    model = subject.model
    if hasattr(model, "separate_parts"):
        raise BeyondAssay(
            "the model is a pipeline of networks, which does not fit into one graph: Assay runs it whole with torch"
        )
    if not hasattr(model, "config") or type(model).__module__.startswith("assay_runner."):
        raise BeyondAssay(
            "the model is run as several calls, which do not fit into one graph: "
            "Assay does not run such models as graphs yet"
        )

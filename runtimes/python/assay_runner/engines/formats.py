"""The formats that models are exported to, and the ways in which an engine is given a model.

Here is what all engines share. An engine's own formats and attempts are in its folder.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from dataclasses import dataclass, field
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
    library: str = ""  # which runs the model by itself, where one does

    def write(self, subject: Subject, folder: Path) -> Graph:
        """Writes the subject into the folder. The writer is imported now.

        Raises ExportFailed where no exporter could, and WrongExport where what they wrote computes something else.
        """
        if self.one_call:
            _confirm_one_call(subject)
        module, _, name = self.writer.rpartition(".")
        return getattr(importlib.import_module(f"assay_runner.{module}"), name)(subject, folder)


ONNX = Form("onnx", "onnx", "exporting.trying.first_good")


@dataclass(frozen=True)
class Attempt:
    """A form of the model, and settings of the engine beside its usual ones."""

    form: Form
    settings: Mapping[str, str] = field(default_factory=dict)

    def label(self) -> str:
        """How the attempt is named in a result."""
        return ", ".join([self.form.via, *(f"{name}={value}" for name, value in self.settings.items())])


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

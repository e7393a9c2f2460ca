"""The artefact of an ONNX file that a user brings: no torch model, so ONNX Runtime is what it is compared with.

The reference is the unchanged file, run by ONNX Runtime without any optimisation; the artefact is the same graph with
its free axes fixed and the rewriting steps done, which must give the same numbers.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx_ir
import torch

from assay_runner.checking import control, numerics, silence
from assay_runner.engines.formats import ONNX, Form
from assay_runner.engines.torch import engine
from assay_runner.errors import ExportFailed, WrongExport
from assay_runner.exporting import comparison, steps, writing
from assay_runner.exporting.graph import Graph, Options
from assay_runner.exporting.store import Store, key_of
from assay_runner.subjects import identity, inputs
from assay_runner.subjects.outputs import Tensors

from .artefact import INPUTS, REFERENCE, Artefact, versions

LABEL = "onnxruntime, not optimised"


class FileExporter:
    """Finds or makes the artefacts of one job about a file."""

    def __init__(self, job: Mapping[str, Any], emit: Any, store: Store, options: Options) -> None:
        cell = {**(job.get("cell") or {}), "platform": "cpu", "device": "", "engine": "torch", "dtype": "fp32"}
        recipe = dict(job.get("recipe") or {})
        self._file = Path(recipe.pop("graph"))
        self.session = engine.Session({**job, "cell": cell, "recipe": recipe, "kind": "file"}, emit)
        self._emit, self._store, self._options = emit, store, options
        self.made: set[str] = set()

    @contextmanager
    def artefact(self, point: Mapping[str, Any], form: Form = ONNX) -> Iterator[Artefact]:
        """The artefact of a point, held while the context lasts. A file has one form: the one that it is in."""
        if form is not ONNX:
            raise ExportFailed(f"an ONNX file cannot be converted to {form.kind}")
        facts = {"subject": self._subject(point), "options": asdict(self._options), "versions": versions(), "file": 2}
        key = key_of(facts)
        with self._store.entry("onnx", key, lambda folder: self._make(point, folder)) as entry:
            if entry.made:
                self.made.add(key)
            yield Artefact(entry, ONNX)

    def _subject(self, point: Mapping[str, Any]) -> str:
        return identity.digest(self.session.recipe, {"weights": "file"}, point, self.session.seed)

    def _make(self, point: Mapping[str, Any], folder: Path) -> dict[str, Any]:
        session, emit = self.session, self._emit
        tensors = session.inputs(point)
        with emit.in_phase("reference"):
            expected = comparison.ran(self._file, tensors, optimised=False)
        silent = silence.heard(onnx_ir.load(self._file), expected)
        with emit.in_phase("convert"):
            graph = self._written(tensors, expected, folder, bool(silent))
        with emit.in_phase("control"):
            damaged = comparison.ran(self._file, session.inputs(point, other=1), optimised=False)
        for name, arrays in ((INPUTS, tensors), (REFERENCE, expected)):
            np.savez(folder / name, **{key: t.numpy() for key, t in arrays.items()})
        change = min(numerics.compare(damaged, expected).max_rel, control.CAP)
        return {
            "subject_hash": self._subject(point),
            "type": "onnx",
            "size": "full",
            "checkpoint": session.recipe.get("checkpoint"),
            "recipe": session.recipe,
            "sizes": inputs.sizes(session.recipe, point),
            "seed": session.seed,
            "parameters": session.recipe.get("parameters", 0),
            "attention": None,
            "unused": [],
            "missing": [],
            "weights_digest": session.recipe["config"]["sha256"],
            "versions": versions(),
            "reference": LABEL,
            "graph": asdict(graph),
            "fixed": {},
            "silent": silent,
            "control": {
                "kind": "other-input",
                "change": change,
                "snr_db": numerics.signal_to_noise_db(damaged, expected),
                "note": "",
            },
        }

    def _written(self, tensors: Mapping[str, torch.Tensor], expected: Tensors, folder: Path, silent: bool) -> Graph:
        """The graph with fixed shapes and the rewriting steps; without the steps where they change its numbers, or
        where nothing would tell."""
        fixed = folder / "fixed.onnx"
        _fix(self._file, tensors, fixed)
        model = onnx_ir.load(fixed)
        done = steps.apply(model)
        writing.write(model, folder)
        check = comparison.held(lambda: comparison.ran(folder / writing.FILE, tensors), expected, LABEL)
        if silent or not check.get("pass"):
            done = []
            shutil.copy(fixed, folder / writing.FILE)
            check = comparison.held(lambda: comparison.ran(folder / writing.FILE, tensors), expected, LABEL)
        for left in folder.glob("fixed.onnx*"):
            left.unlink()
        if "error" in check:
            raise ExportFailed(f"the graph cannot be run with fixed shapes: {check['error']}")
        if not check["pass"] and not silent:
            raise WrongExport("the graph with fixed shapes gives different numbers from the file", check["max_rel"])
        model = onnx_ir.load(folder / writing.FILE)
        return Graph(
            file=writing.FILE,
            opset=model.opset_imports[""],
            inputs=writing.describe(model.graph.inputs),
            outputs=writing.describe(model.graph.outputs),
            exporter="none: a file",
            steps=done,
            tried=[],
            operators=writing.operators(model),
            check=check,
        )


def _fix(file: Path, tensors: Mapping[str, torch.Tensor], to: Path) -> None:
    """Writes the model with the shapes that the inputs have."""
    model = onnx.load(file)
    for value in model.graph.input:
        if value.name not in tensors:
            continue
        shape = value.type.tensor_type.shape
        del shape.dim[:]
        for n in tensors[value.name].shape:
            shape.dim.add().dim_value = n
    onnx.save(model, to, save_as_external_data=model.ByteSize() > writing.INLINE_BYTES, location="fixed.onnx.data")

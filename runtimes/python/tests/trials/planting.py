"""Plants a mutated graph between Assay and an engine: the backend is given it, and everything else stays as it was."""

from __future__ import annotations

import math
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import onnx_ir
import torch

from assay_runner.engines.backends import backend
from assay_runner.engines.contract import Backend, Exported
from assay_runner.engines.graphs import driver
from assay_runner.engines.graphs.artefact import INPUTS, Artefact
from assay_runner.exporting import comparison, writing
from assay_runner.subjects.outputs import Tensors
from assay_runner.subjects.samples import Sample

from .checks import Check, Emit
from .mutating import MUTATIONS, Graph, Lacking

NOTHING = 1e-6  # of the largest value: a fault that does less does nothing
_TURNS = 4


@dataclass(frozen=True)
class Mutant:
    """A fault in a model: its graph, and how far it moves the outputs at most, as a share of their largest value."""

    mutation: str
    file: str = ""
    effect: float | None = None
    output: str = ""  # the one that is moved so far
    lacking: str = ""  # why there is none


@contextmanager
def exported(check: Check) -> Iterator[Artefact]:
    """The artefact that a check would use, made where it is not there."""
    session = driver.Session(check.job, Emit())
    with session.exporter.artefact(session.points[0]) as artefact:
        yield artefact


def breed(check: Check, folder: Path) -> list[Mutant]:
    """Writes every mutant of a model into a folder, and measures what each does on ONNX Runtime."""
    with exported(check) as artefact:
        samples = _samples(artefact)
        right = comparison.Graph(artefact.graph, _names(artefact))
        expected = [(sample, right.run(sample.tensors)) for sample in samples]
        shapes = [tuple(t.shape) if t.is_floating_point() else None for t in expected[0][1].values()]
        return [_bred(artefact, name, folder / name.replace(" ", "-"), shapes, expected) for name in MUTATIONS]


def _bred(artefact: Artefact, name: str, folder: Path, shapes: list[Any], expected: list[Any]) -> Mutant:
    """The first place where the fault does something, of a few."""
    for turn in range(_TURNS):
        graph = Graph(onnx_ir.load(artefact.graph), shapes, turn)
        try:
            MUTATIONS[name](graph)
        except Lacking as error:
            return Mutant(name, lacking=str(error))
        writing.write(graph.model, folder)
        file = folder / writing.FILE
        mutant = Mutant(name, str(file), *_effect(comparison.Graph(file, _names(artefact)), expected))
        if mutant.effect >= NOTHING or turn + 1 >= graph.places[0]:
            break
    return mutant


def _samples(artefact: Artefact) -> list[Sample]:
    """All that the graph takes, the first before the others."""
    with np.load(artefact.entry.path(INPUTS), allow_pickle=False) as arrays:
        first = Sample("", {name: torch.from_numpy(arrays[name]) for name in arrays.files})
    return [first, *(row.sample for row in artefact.further() if not artefact.fixed(row.sample.tensors))]


def _names(artefact: Artefact) -> list[str]:
    """The model's own names of the graph's outputs."""
    return [spec["name"] for spec in artefact["graph"]["outputs"]]


def _effect(mutated: comparison.Graph, expected: list[tuple[Sample, Tensors]]) -> tuple[float, str]:
    return max(_apart(s.visible(mutated.run(s.tensors)), s.visible(right)) for s, right in expected)


def _apart(found: Tensors, right: Tensors) -> tuple[float, str]:
    """How far the worst floating output is off, and its name."""
    rows = [(_off(found[name], t), name) for name, t in right.items() if t.is_floating_point() and t.numel()]
    return max(rows, default=(0.0, ""))


def _off(one: torch.Tensor, other: torch.Tensor) -> float:
    """The largest difference over the largest value."""
    if one.shape != other.shape or bool(one.isnan().any()) != bool(other.isnan().any()):
        return math.inf
    seen = torch.isfinite(other) & (other.abs() < torch.finfo(other.dtype).max / 2)
    if not bool(seen.any()):
        return 0.0
    one, other = one[seen].double(), other[seen].double()
    difference, scale = float((one - other).abs().max()), float(other.abs().max())
    return difference / scale if scale else (math.inf if difference else 0.0)


@contextmanager
def planted(mutant: Mutant) -> Iterator[None]:
    """Inside, every engine of graphs is given the mutant instead of the model's own graph."""

    def kind(engine: str) -> type[Backend]:
        class Planted(backend(engine)):
            def prepare(self, exported: Exported) -> Any:
                key = f"{exported.key}-{mutant.mutation.replace(' ', '-')}"
                return super().prepare(replace(exported, key=key, graph=Path(mutant.file)))

        return Planted

    with mock.patch.object(driver, "backend", kind):
        yield


def apart(check: Check, folder: Path) -> Check:
    """The same check with a store of its own, which has the model's artefact and nothing that engines made of it: what
    is known of an attempt must not be known of a mutant."""
    with exported(check) as artefact:
        own = folder / artefact.entry.folder.relative_to(check.exports)
        shutil.copytree(artefact.entry.folder, own, copy_function=os.link)
    return replace(check, exports=folder)

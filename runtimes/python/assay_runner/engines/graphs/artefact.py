"""The artefact of a model at one input size: its graph, torch's own outputs, and what a damaged model gave."""

from __future__ import annotations

import ctypes
import gc
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np
import torch

from assay_runner.checking import control, numerics, reference, steadiness, tolerances
from assay_runner.checking.further import Further, known, steady
from assay_runner.checking.tolerances import Rounding, Tolerance
from assay_runner.engines.contract import Arrays, Exported
from assay_runner.engines.formats import ONNX, Form
from assay_runner.engines.torch import engine
from assay_runner.errors import ExportFailed, WrongExport
from assay_runner.exporting import damaging
from assay_runner.exporting.call import Subject
from assay_runner.exporting.graph import Options
from assay_runner.exporting.store import Entry, Store, key_of
from assay_runner.subjects import checkpoints, experts, identity, inputs, layered, mapped, samples, stream
from assay_runner.subjects.outputs import Tensors
from assay_runner.subjects.programs import building
from assay_runner.subjects.samples import Sample

from . import damaged, held

INPUTS = "inputs.npz"
REFERENCE = "reference.npz"
SAMPLE_INPUTS, SAMPLE_REFERENCE = "inputs{}.npz", "reference{}.npz"  # of the samples beside the first
_LARGE = 50_000_000  # parameters: beyond it a run takes long, and none is spent on whether a sample proves anything
_LIBRARIES = ("torch", "transformers", "onnx", "onnxscript", "onnx-ir", "timm", "numpy")
_FAILURES = {kind.__name__: kind for kind in (ExportFailed, WrongExport)}


@dataclass(frozen=True)
class Artefact:
    """An entry of the store that is a model."""

    entry: Entry
    form: Form

    @property
    def graph(self) -> Path:
        """The file of the graph."""
        return self.entry.path(self.entry.manifest["graph"]["file"])

    @property
    def silent(self) -> str:
        """Why outputs cannot be compared with the reference; "" where they can."""
        return self.entry.manifest.get("silent", "")

    @property
    def sampled(self) -> bool:
        """Whether there are samples beside the first."""
        return bool(self.entry.manifest.get("samples"))

    @property
    def left_out(self) -> list[dict[str, str]]:
        """The samples that say nothing of this model, each with the reason."""
        return self.entry.manifest.get("left_out", [])

    def __getitem__(self, name: str) -> Any:
        return self.entry.manifest[name]

    def exported(self, calibration: Callable[[int], list[Arrays]]) -> Exported:
        """What a backend sees of it."""
        return self._exported(self["key"], self["graph"], "", calibration)

    def damaged(self, calibration: Callable[[int], list[Arrays]]) -> tuple[Exported, Tensors] | None:
        """The same of the damaged model, where one was written, with what torch gave of it."""
        graph = (self.damage or {}).get("graph")
        if graph is None:
            return None
        key = f"{self['key']}-damaged"
        exported = self._exported(key, graph, f"{damaged.FOLDER}/", calibration)
        return exported, self._tensors(f"{damaged.FOLDER}/{damaged.REFERENCE}")

    def _exported(self, key: str, graph: Mapping[str, Any], within: str, calibration: Any) -> Exported:
        once = graph.get("encoder")
        encoder = once and Exported(
            f"{key}-encoder", self.entry.path(within + once["file"]), once["inputs"], once["outputs"], calibration
        )
        file = self.entry.path(within + graph["file"])
        return Exported(key, file, graph["inputs"], graph["outputs"], calibration, encoder)

    @property
    def damage(self) -> dict[str, Any] | None:
        """What damage does to the graph; None where the model is not tiny."""
        return self.entry.manifest.get("damage")

    def inputs(self) -> Tensors:
        """What torch was given, and the graph at its check."""
        return self._tensors(INPUTS)

    def reference(self) -> Tensors:
        """What torch gave, on the CPU in float32."""
        return self._tensors(REFERENCE)

    @property
    def moves(self) -> Mapping[str, float]:
        """By dtype, how far roundings move the first sample, where the recipe does not know this call."""
        return self.entry.manifest.get("moves", {})

    @property
    def rounding(self) -> Rounding:
        """How far roundings of float32 move the outputs of which the recipe does not say it."""
        return {name: (row[0], row[1]) for name, row in self.entry.manifest.get("rounding", {}).items()}

    def further(self) -> list[Further]:
        """The samples beside the first, with what torch gave."""
        return [
            Further(
                Sample(row["name"], self._tensors(SAMPLE_INPUTS.format(index)), tuple(row["masks"])),
                self._tensors(SAMPLE_REFERENCE.format(index)),
                row["moves"],
            )
            for index, row in enumerate(self.entry.manifest.get("samples", []))
        ]

    def fixed(self, given: Mapping[str, torch.Tensor]) -> list[str]:
        """Which inputs have one value in the graph, and another one here. What the model does not use may have any."""
        names = [name for step in self["graph"]["steps"] for name in step.get("inputs", ()) if name in given]
        first = self._tensors(INPUTS) if names else {}
        return [name for name in names if not torch.equal(given[name], first[name])]

    def _tensors(self, file: str) -> Tensors:
        with np.load(self.entry.path(file), allow_pickle=False) as arrays:
            return {name: torch.from_numpy(arrays[name]) for name in arrays.files}


class Exporter:
    """Finds or makes the artefacts of one job."""

    def __init__(self, job: Mapping[str, Any], emit: Any, store: Store, options: Options) -> None:
        cell = {**(job.get("cell") or {}), "platform": "cpu", "device": "", "engine": "torch", "dtype": "fp32"}
        self.session = engine.Session({**job, "cell": cell}, emit)
        self._emit, self._store, self._options = emit, store, options
        self.made: set[str] = set()  # keys of what was not there before this job

    @contextmanager
    def artefact(self, point: Mapping[str, Any], form: Form = ONNX) -> Iterator[Artefact]:
        """The artefact of a point in a form, held while the context lasts. A model that could not be exported with the
        same versions before is not tried again: the same exception is raised."""
        key = key_of(self._facts(point, form))
        with self._store.entry(form.kind, key, lambda folder: self._make(point, form, folder)) as entry:
            if entry.made:
                self.made.add(key)
                _give_back()
            if failed := entry.manifest.get("failed"):
                raise _FAILURES[failed["type"]](failed["message"])
            yield Artefact(entry, form)

    def _facts(self, point: Mapping[str, Any], form: Form) -> dict[str, Any]:
        session = self.session
        return {
            "subject": identity.digest(session.recipe, self._weights(), point, session.seed),
            "options": asdict(self._options),
            "form": form.kind,
            "versions": versions(form.libraries),
        }

    def _weights(self) -> dict[str, Any]:
        """What decides the weights, known without building the model."""
        session = self.session
        if (session.cell.get("weights") or "random") == "random":
            gain = float(session.recipe.get("gain", 1.0))
            return {"weights": "random", "stream": stream.VERSION, "seed": session.seed, "gain": gain}
        given = session.job["weights"]
        return {"weights": checkpoints.digest(checkpoints.files(given["folder"], bool(given.get("pickle"))))}

    def _make(self, point: Mapping[str, Any], form: Form, folder: Path) -> dict[str, Any]:
        if not form.narrow:
            return self._written(self.session.built(), point, form, folder)
        built = self._narrow(folder)
        with layered.widened(built.model, torch.float32):
            return self._written(built, point, form, folder)

    def _narrow(self, folder: Path) -> building.Built:
        """The model with drawn weights of 16 bits, which lie in files beside what is made of them."""
        session = self.session
        if (session.cell.get("weights") or "random") != "random":
            return session.built()  # which says that it does not fit
        with self._emit.in_phase("build"), mapped.Files(folder):
            return building.build(session.recipe, torch.bfloat16, session.seed, threads=session.threads)

    def _expected(self, built: building.Built, tensors: Mapping[str, Any], form: Form) -> tuple[Tensors, str]:
        """What torch gives, and how that is called."""
        session = self.session
        if form.narrow:
            return session.forward(built.model, tensors), "cpu fp32, layer by layer"
        known = reference.compute(built, True, [tensors], session.forward, session.rebuilt, session.available)
        return known.outputs[0] if known.outputs else session.forward(built.model, tensors), known.label

    def _further(
        self, built: building.Built, point: Mapping[str, Any], form: Form
    ) -> tuple[list[Further], list[dict[str, str]]]:
        """The samples beside the first. A generation is judged by its tokens alone, and a model that only just fits
        into memory is run once."""
        session = self.session
        if form.narrow or not form.one_call:
            return [], []
        made = samples.make(session.recipe, point, session.seed, session.dtype)
        large = built.parameters > _LARGE

        def run(given: Mapping[str, torch.Tensor]) -> Tensors:
            return session.forward(built.model, given)

        with experts.looped(built.model), reference.forgetting(built.model):
            if large:
                found, left = known([one for one in made if one.name not in samples.EDGES], run)
                edges = [one.name for one in made if one.name in samples.EDGES]
                return found, left + [{"name": name, "why": "only tiny models are run on it"} for name in edges]
            found, left = known(made, run)
            found, ties = steady(found, built.model, run, session.tolerance.most)
        found = self._rounded(built, found)
        rough = [row.left(why) for row in found if (why := row.unfit("fp32", session.tolerance.most))]
        named = {row["name"] for row in rough}
        return [row for row in found if row.sample.name not in named], left + ties + rough

    def _rounding(
        self, built: building.Built, tensors: Mapping[str, Any], expected: Tensors, form: Form
    ) -> dict[str, tuple[float, float]]:
        """How far roundings move what a tiny model gives of the first sample, where its recipe does not say it: it
        cannot run in float64."""
        session = self.session
        known = session.tolerance.rounding
        unknown = [name for name, t in expected.items() if t.is_floating_point() and name not in known]
        if session.recipe.get("size") != "tiny" or not unknown or form.narrow or not form.one_call:
            return {}
        with experts.looped(built.model), reference.forgetting(built.model):
            found = steadiness.rounding(built.model, lambda: session.forward(built.model, tensors), expected)
        return {name: row for name, row in found.items() if name in unknown and math.isfinite(max(row))}

    def _moves(
        self, built: building.Built, point: Mapping[str, Any], tensors: Tensors, expected: Tensors, form: Form
    ) -> dict[str, float]:
        """How far roundings of each dtype move the first sample, where the recipe's rounding is that of another
        call."""
        session = self.session
        tiny = session.recipe.get("size") == "tiny" and form.one_call
        if not tiny or tolerances.measured(session.recipe, point, session.seed):
            return {}

        def run(given: Mapping[str, torch.Tensor]) -> Tensors:
            return session.forward(built.model, given)

        with experts.looped(built.model), reference.forgetting(built.model):
            first = Further(Sample("the first", dict(tensors)), expected)
            moves = {dtype: first.moved(built.model, run, expected, dtype) for dtype in steadiness.ROUNDINGS}
        return dict(self._rounded(built, [replace(first, moves=moves)])[0].moves)

    def _unsettled(
        self, built: building.Built, tensors: Tensors, expected: Tensors, form: Form
    ) -> tuple[str, Tolerance | None]:
        """Why nothing can be said of what a model at full size gives, and what its graph may still not be off by; ""
        where something can."""
        session = self.session
        if session.recipe.get("size") == "tiny" or form.narrow or not form.one_call:
            return "", None
        with experts.looped(built.model), reference.forgetting(built.model):
            movement = steadiness.moved(built.model, lambda: session.forward(built.model, tensors), expected)
        why = session.tolerance.unsettled(0.0, movement)
        return why, session.tolerance.moved(movement) if why else None

    def _rounded(self, built: building.Built, found: list[Further]) -> list[Further]:
        """The samples with how far float32 itself is from float64 on each, where that is more than is known."""
        try:
            with reference.wide(built, torch.float64, self.session.forward) as run:
                return [row.rounded(run(row.sample.tensors)) for row in found]
        except Exception:  # noqa: BLE001 - a kernel that lacks the dtype says nothing about rounding
            return found

    def _written(self, built: building.Built, point: Mapping[str, Any], form: Form, folder: Path) -> dict[str, Any]:
        session, emit = self.session, self._emit
        tensors = session.inputs(point)
        with emit.in_phase("reference"):
            expected, label = self._expected(built, tensors, form)
            further, left = self._further(built, point, form)
            rounding = self._rounding(built, tensors, expected, form)
            moves = self._moves(built, point, tensors, expected, form)
            silent, loose = self._unsettled(built, tensors, expected, form)
        facts = {
            "subject_hash": identity.digest(session.recipe, built.weights, point, session.seed),
            "type": session.recipe.get("type"),
            "size": session.recipe.get("size"),
            "checkpoint": session.recipe.get("checkpoint"),
            "recipe": session.recipe,
            "sizes": inputs.sizes(session.recipe, point),
            "seed": session.seed,
            "parameters": built.parameters,
            "attention": built.attention,
            "unused": built.unused,
            "missing": built.weights.get("missing", []),
            "weights_digest": built.weights["weights"] if "missing" in built.weights else "",
            "versions": versions(form.libraries),
            "reference": label,
            "samples": [
                {"name": row.sample.name, "masks": row.sample.masks, "moves": dict(row.moves)} for row in further
            ],
            "left_out": left,
            "rounding": rounding,
            "moves": moves,
            "silent": silent,
        }
        try:
            with emit.in_phase("convert"):
                call = session.recipe.get("call", {})
                limit = loose or session.tolerance.knowing(rounding).moved_at(moves, "fp32")
                told = Subject(built.model, tensors, call, expected, self._options, further, limit)
                graph = form.write(told, folder)
        except (ExportFailed, WrongExport) as error:
            return facts | {"failed": {"type": type(error).__name__, "message": str(error)}}
        for name, arrays in ((INPUTS, tensors), (REFERENCE, expected)):  # so that anyone can check it elsewhere
            np.savez(folder / name, **{key: t.numpy() for key, t in arrays.items()})
        for index, row in enumerate(further):
            for name, arrays in ((SAMPLE_INPUTS, row.sample.tensors), (SAMPLE_REFERENCE, row.expected)):
                np.savez(folder / name.format(index), **{key: t.numpy() for key, t in arrays.items()})
        with emit.in_phase("control"):
            damage = self._damage(form, told, folder, graph.file)
            seen = self._control(built.model, point, tensors, expected)  # the last: the model stays damaged
        more = {"fixed": held.values(graph, tensors), "control": seen, "damage": damage}
        return facts | {"graph": asdict(graph)} | more

    def _damage(self, form: Form, told: Subject, folder: Path, file: str) -> dict[str, Any] | None:
        """What damage does to the graph itself, so that an engine can be given it damaged. Of a model that is not tiny
        it would take too long, and a library that runs a whole folder by itself is not asked to."""
        session = self.session
        if session.recipe.get("size") != "tiny":
            return None
        if form is ONNX:
            return damaging.measured(folder / file, list(told.expected), told.tensors, told.expected)
        if form.library:
            return damaging.nothing(f"{form.library} runs the model by itself")
        return damaged.written(form, told, lambda given: session.forward(told.model, given), folder)

    def _control(
        self, model: torch.nn.Module, point: Mapping[str, Any], tensors: Mapping[str, Any], expected: Tensors
    ) -> dict[str, Any] | None:
        """What damage does to the outputs: how far they are from the reference then, by both measures."""
        session = self.session
        kind = (session.recipe.get("control") or {}).get("kind")
        if not kind:
            return None
        seen: list[Tensors] = []

        def kept(given: Mapping[str, torch.Tensor]) -> Tensors:
            seen.append(session.forward(model, given))
            return seen[-1]

        measured = control.measure(
            model,
            kind,
            kept,
            tensors,
            lambda: session.inputs(point, other=1),
            expected,
            session.tolerance,
            restore=False,
        )
        snr = numerics.signal_to_noise_db(seen[0], expected) if seen else None
        return {"kind": kind, "change": measured.change, "snr_db": snr, "note": measured.note}


def versions(more: Sequence[str] = ()) -> dict[str, str]:
    """The versions of what an exported graph depends on."""
    found = {}
    for name in (*_LIBRARIES, *more):
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def _give_back() -> None:
    """Frees what building and exporting held, so that the engine has the memory."""
    gc.collect()
    try:
        ctypes.CDLL(None).malloc_trim(0)
    except (OSError, AttributeError, TypeError):  # another C library
        return

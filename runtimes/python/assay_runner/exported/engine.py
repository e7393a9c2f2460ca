"""Carries `check` and `time` jobs out for every engine that runs an exported graph.

`check` compares each point's outputs with those that torch gave when the model was exported; `time` finds the artefact
that the check left and needs no torch model at all. What both report is what torch's own engine reports.

Where throughput is measured one run is many inferences in flight. A sample is then its time divided by their number:
the time that an inference costs, which is less than the time that one takes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import torch

from assay_runner import export, generation, inputs, linux, memory, numerics, outputs, timing
from assay_runner.errors import BadRecipe, ExportFailed, RefusedGraph, WrongExport
from assay_runner.outputs import Tensors

from .artefact import DIRECT, ONNX, PROGRAM, STATEFUL, Artefact, Exporter, Form
from .backend import Arrays, Asked, Backend, Compiled, Exported, Placement, backend
from .files import FileExporter
from .store import Store

OLDEST_OPSET = 18  # what torch's exporter is written in: older ones would need operators translated back
INSIDE = "inference only; inputs bound before"
FORMS: Mapping[str, Mapping[str, tuple[Form, ...]]] = {
    "openvino": {"": (ONNX, DIRECT), "onnx": (ONNX,), "torch": (DIRECT,)},
    "coreml": {"": (PROGRAM,)},
}
"""Engine → the cell's `via` → the forms in which it takes a model, in the order in which they are tried."""

MODES: Mapping[tuple[str, str], tuple[Form, ...]] = {("openvino", generation.MODE): (STATEFUL,)}
"""Engine and the cell's mode → the forms for it, where the mode is not plain inference."""

IN_FLIGHT = "a share of {} inferences in flight, all awaited; inputs bound before"


def run(job: Mapping[str, Any], emit: Any) -> None:
    """Carries a job out and reports through emit."""
    kinds: dict[str, Callable[[Session, Mapping[str, Any]], dict[str, Any]]] = {"check": _checked, "time": _timed}
    if job.get("kind") not in kinds:
        raise BadRecipe(f"engines of exported graphs have no job {job.get('kind')!r}: they have {', '.join(kinds)}")
    session = Session(job, emit)
    for index, point in enumerate(session.points):
        emit.index = index
        emit.point(index, kinds[job["kind"]](session, point))


class Session:
    """One job under way."""

    def __init__(self, job: Mapping[str, Any], emit: Any) -> None:
        self.job, self.emit = job, emit
        self.cell: Mapping[str, Any] = job.get("cell") or {}
        self.options: Mapping[str, Any] = job.get("options") or {}
        if not self.options.get("exports"):
            raise BadRecipe("the job does not say in which folder exported models lie: options.exports")
        self.store = Store(Path(self.options["exports"]))
        options = export.Options(
            opset=_opset(self.options.get("opset")),
            dynamic=self.cell.get("shapes") == "dynamic",
            seed=int(self.cell.get("seed") or 0),
        )
        maker = FileExporter if (job.get("recipe") or {}).get("graph") else Exporter
        self.exporter = maker(job, emit, self.store, options)
        self.torch = self.exporter.session
        self.points = self.torch.points
        self.host = memory.Host()
        self.forms = _forms(self.cell)
        self.asked = Asked(
            platform=str(self.cell.get("platform") or ""),
            device=str(self.cell.get("device") or ""),
            dtype=str(self.cell.get("dtype") or "fp32"),
            threads=int(job.get("threads") or 0),
            scenario=str(self.cell.get("scenario") or "latency"),
            profile=job.get("kind") == "check",
            mode=str(self.cell.get("mode") or "infer"),
            options=self.options,
        )
        with emit.in_phase("import"):
            self.backend: Backend = backend(str(self.cell["engine"]))(self.asked, self.store)

    @property
    def limit(self) -> float | None:
        """The tolerance of the cell's dtype; None where its noise is what counts."""
        if self.asked.dtype in numerics.LEAST_SNR_DB:
            return None
        cell, recipe = self.cell, self.torch.recipe
        size = cell.get("size") or recipe.get("size") or ""
        weights = cell.get("weights") or "random"
        return numerics.tolerance(recipe.get("type", ""), size, weights, self.asked.dtype, str(cell["engine"]))

    def feeds(self, artefact: Artefact, point: Mapping[str, Any], other: int = 0) -> Arrays:
        """The graph's inputs at a point, as arrays."""
        made = inputs.make(self.torch.recipe, point, self.torch.seed + other, torch.float32)
        return {spec["name"]: np.ascontiguousarray(made[spec["name"]].numpy()) for spec in artefact["graph"]["inputs"]}

    @contextmanager
    def ready(self, point: Mapping[str, Any]) -> Iterator[tuple[Artefact, Compiled]]:
        """The first form of the model that the engine takes, compiled, and held while the context lasts."""
        with ExitStack() as held:
            refusals: list[Exception] = []
            for form in self.forms:
                try:
                    with ExitStack() as trial:
                        artefact = trial.enter_context(self.exporter.artefact(point, form))
                        compiled = self.compiled(artefact, point)
                        held.enter_context(trial.pop_all())
                    break
                except (ExportFailed, WrongExport, RefusedGraph) as error:
                    refusals.append(error)
            else:
                raise refusals[0]
            yield artefact, compiled

    def compiled(self, artefact: Artefact, point: Mapping[str, Any]) -> Compiled:
        """The artefact on its engine, each step in its phase."""
        graph = artefact["graph"]
        exported = Exported(
            artefact.entry.manifest["key"],
            artefact.graph,
            graph["inputs"],
            graph["outputs"],
            lambda n: [self.feeds(artefact, point, other=2 + i) for i in range(n)],
        )
        with self.emit.in_phase("convert"):
            prepared = self.backend.prepare(exported)
        with self.emit.in_phase("compile"):
            return self.backend.compile(prepared)

    def report(
        self, artefact: Artefact, compiled: Compiled, found: Tensors, placement: Placement | None
    ) -> dict[str, Any]:
        """What the reports of both kinds have in common."""
        graph, facts = artefact["graph"], compiled.facts()
        return {
            "outputs": outputs.describe(found),
            "numerics": None,
            "numerics_note": "",
            "evidence": compiled.evidence,
            "placement": placement.report() if placement else None,
            "export": {
                "key": artefact["key"],
                "prepared": compiled.key,
                "found": not artefact.entry.made,
                "via": artefact.form.via,
                **{name: graph[name] for name in ("opset", "exporter", "steps", "check")},
            },
            "memory": {**self.host.report(), "device_peak_bytes": None, "framework_peak_bytes": None},
            "subject_hash": artefact["subject_hash"],
            "parameters": artefact["parameters"],
            "threads": self.torch.threads,
            "attn_implementation": artefact["attention"],
            "weights_digest": artefact["weights_digest"],
            "weights_missing": artefact["missing"],
            "weights_unused": artefact["unused"],
            "inputs_inside": INSIDE if compiled.items == 1 else IN_FLIGHT.format(compiled.items),
            "energy_j": None,
            "generation": compiled.generation() if hasattr(compiled, "generation") else None,
            "context": self.torch.watch.report(self.torch.threads, self.torch.precision) | facts,
        }


def _opset(asked: Any) -> int | None:
    """The asked opset, or None for the exporter's own choice."""
    import onnx

    newest = onnx.defs.onnx_opset_version()
    if asked and not OLDEST_OPSET <= int(asked) <= newest:
        raise ExportFailed(
            f"opset {asked} cannot be written: the exporters write {OLDEST_OPSET}, and onnx {onnx.__version__} knows "
            f"{newest} at most"
        )
    return int(asked) if asked else None


def _forms(cell: Mapping[str, Any]) -> tuple[Form, ...]:
    """The forms in which the cell's engine takes its model, the first first."""
    engine, mode = str(cell["engine"]), cell.get("mode") or "infer"
    if mode == "infer":
        return FORMS.get(engine, {}).get(str(cell.get("via") or ""), (ONNX,))
    if (engine, mode) not in MODES:
        raise BadRecipe(f"the engine {engine} has no mode {mode!r}: it has infer")
    return MODES[engine, mode]


def _tensors(compiled: Compiled) -> Tensors:
    """What a run gave, as torch's tensors, so that the same code compares it."""
    return {name: torch.from_numpy(np.ascontiguousarray(array)) for name, array in compiled.outputs().items()}


def _checked(session: Session, point: Mapping[str, Any]) -> dict[str, Any]:
    with session.ready(point) as (artefact, compiled):
        if compiled.evidence == "compiled":
            return session.report(artefact, compiled, {}, compiled.placement()) | {
                "outputs": artefact["graph"]["outputs"]
            }
        linux.reset_peak()
        compiled.bind(session.feeds(artefact, point))
        with session.emit.in_phase("run"):
            run_ms = timing.once(compiled.run, session.torch.device)
        found, expected = _tensors(compiled), artefact.reference()
        outputs.keep(session.job, session.emit.index or 0, found)
        report = session.report(artefact, compiled, found, compiled.placement())
        report["phases_ms"] = {"run": run_ms}
        report["finite"] = numerics.finite(found, expected)
        report["constant"] = outputs.constant(found)
        if report["generation"]:
            report["generation"]["agreed_tokens"] = generation.agreed(found, expected)
        report["numerics"] = _numerics(session, artefact, found, expected)
        return report


def _numerics(session: Session, artefact: Artefact, found: Tensors, expected: Tensors) -> dict[str, Any]:
    """The comparison and the negative control, by the measure that the dtype has."""
    found, expected = generation.comparable(found, expected)
    limit, least = session.limit, numerics.LEAST_SNR_DB.get(session.asked.dtype)
    compared = numerics.compare(found, expected).report(limit or 0.0, artefact["reference"])
    compared["output_hash"] = outputs.digest(found)
    damaged = artefact["control"]
    if least is not None:
        snr = numerics.signal_to_noise_db(found, expected)
        compared |= {"snr_db": snr, "least_snr_db": least, "pass": snr is not None and snr >= least}
        passed = damaged is not None and (damaged["snr_db"] is None or damaged["snr_db"] <= numerics.CONTROL_SNR_DB)
    else:
        passed = damaged is not None and damaged["change"] >= numerics.CONTROL_FACTOR * limit
    if damaged is not None:
        compared["control"] = {**damaged, "pass": passed}
    return compared


def _timed(session: Session, point: Mapping[str, Any]) -> dict[str, Any]:
    emit, device = session.emit, session.torch.device
    linux.reset_peak()
    with session.ready(point) as (artefact, compiled):
        compiled.bind(session.feeds(artefact, point))
        rule = timing.Rule.of(session.job.get("timing")).shared(compiled.items)
        with timing.quiet():
            with emit.in_phase("first"):
                first_ms = timing.once(compiled.run, device)
            with emit.in_phase("warmup"):
                warm = timing.warm_up(compiled.run, device, rule)
            emit.timed("begin")
            samples = timing.sample(compiled.run, device, rule, warm.last_ms)
            emit.timed("end")
        report = session.report(artefact, compiled, _tensors(compiled), None)
        return report | {
            "samples_ms": [ms / compiled.items for ms in samples.ms],
            "device_samples_ms": None,
            "cpu_ms_per_iter": samples.cpu_ms_per_iter / compiled.items,
            "warmup": {
                "count": warm.count * compiled.items,
                "mean_ms": None if warm.mean_ms is None else warm.mean_ms / compiled.items,
                "stable": warm.stable,
            },
            "sync": "",
            "phases_ms": {"first": first_ms, "warmup": (warm.mean_ms or 0.0) * warm.count},
        }

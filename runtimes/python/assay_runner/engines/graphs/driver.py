"""Runs `check` and `time` jobs for every engine that runs an exported graph.

`check` compares each point's outputs with those that torch gave when the model was exported; `time` finds the artefact
that the check left and needs no torch model at all. What both report is what torch's own engine reports.

Where throughput is measured one run is many inferences in flight. A sample is then its time divided by their number:
the time that an inference costs, which is less than the time that one takes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import torch

from assay_runner.checking import further, numerics, tolerances
from assay_runner.checking.further import Rows
from assay_runner.checking.tolerances import Tolerance
from assay_runner.engines import timing
from assay_runner.engines.backends import backend
from assay_runner.engines.contract import Arrays, Asked, Backend, Compiled, Exported, Placement
from assay_runner.engines.formats import Attempt
from assay_runner.errors import BadRecipe, Unsuited
from assay_runner.exporting.graph import Options, opset
from assay_runner.exporting.store import Store
from assay_runner.machine import memory
from assay_runner.subjects import front_ends, generation, inputs, outputs, samples
from assay_runner.subjects.outputs import Tensors

from . import checks, sampling, timings
from .artefact import Artefact, Exporter, versions
from .choosing import Chooser, Running
from .files import FileExporter

SCENARIOS = {"throughput": "throughput"}  # beside other models an engine runs as it does alone
INSIDE = "inference only; inputs bound before"
WHOLE = "front end and inference; raw input bound before"
IN_FLIGHT = "a share of {} inferences in flight, all awaited; inputs bound before"


def run(job: Mapping[str, Any], emit: Any) -> None:
    """Runs a job and reports through emit."""
    kinds: dict[str, Callable[[Session, Mapping[str, Any]], dict[str, Any]]] = {
        "check": checks.check,
        "time": timings.time,
    }
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
            raise BadRecipe("the job does not say where exported models are kept: options.exports")
        self.store = Store(Path(self.options["exports"]))
        options = Options(
            opset=opset(self.options.get("opset")),
            dynamic=self.cell.get("shapes") == "dynamic",
            seed=int(self.cell.get("seed") or 0),
        )
        maker = FileExporter if (job.get("recipe") or {}).get("graph") else Exporter
        self.exporter = maker(job, emit, self.store, options)
        self.torch = self.exporter.session
        self.points = self.torch.points
        self.host = memory.Host()
        self._first: tuple[Compiled | None, Tensors] = (None, {})
        self._samples: tuple[Compiled | None, Rows] = (None, ([], []))
        self.asked = Asked(
            platform=str(self.cell.get("platform") or ""),
            device=str(self.cell.get("device") or ""),
            dtype=str(self.cell.get("dtype") or "fp32"),
            threads=int(job.get("threads") or 0),
            scenario=SCENARIOS.get(str(self.cell.get("scenario") or ""), "latency"),
            profile=job.get("kind") == "check",
            mode=str(self.cell.get("mode") or "infer"),
            warm=self.cell.get("start") == "warm",
            blocks={name: int(self.cell.get(name) or 0) for name in ("block", "accuracy")},
            options=self.options,
            cell=self.cell,
        )
        with emit.in_phase("import"):
            engine = backend(str(self.cell["engine"]))
            self.attempts = engine.attempts(self.cell)
            if not self.attempts:
                raise Unsuited(f"the engine {self.cell['engine']} has no mode {self.asked.mode!r}: it has infer")
            self.backend: Backend = engine(self.asked, self.store)

    @property
    def limit(self) -> Tolerance | None:
        """The tolerance of the cell's dtype; None where its noise is what counts."""
        if self.asked.dtype in numerics.LEAST_SNR_DB:
            return None
        return tolerances.of_cell(self.torch.recipe, self.cell, self.asked.dtype, str(self.cell["engine"]))

    def limit_of(self, artefact: Artefact) -> Tolerance | None:
        """The same for what an artefact knows of its model's rounding beside the recipe."""
        limit, dtype = self.limit, self.asked.dtype
        if limit is None:
            return None
        return (limit.knowing(artefact.rounding) if dtype == "fp32" else limit).moved_at(artefact.moves, dtype)

    def feeds(self, artefact: Artefact, point: Mapping[str, Any], other: int = 0) -> Arrays:
        """The graph's inputs at a point, as arrays."""
        made = inputs.make(self.torch.recipe, point, self.torch.seed + other, torch.float32)
        feeds = {spec["name"]: sampling.plain(made[spec["name"]].numpy()) for spec in artefact["graph"]["inputs"]}
        return feeds | inputs.raw(self.torch.recipe, point, self.torch.seed + other)

    def _calibrating(self, artefact: Artefact, point: Mapping[str, Any], number: int) -> Arrays:
        """Inputs to calibrate with: every second set is padded, as the inputs of users are."""
        feeds, seed = self.feeds(artefact, point, other=2 + number), self.torch.seed + 2 + number
        if number % 2 == 0:
            return feeds
        made = samples.make(self.torch.recipe, point, seed, torch.float32)
        padded = next((one.tensors for one in made if one.name == samples.PADDED), {})
        return feeds | {name: sampling.plain(t.numpy()) for name, t in padded.items() if name in feeds}

    def chooser(self) -> Chooser:
        """What chooses among the engine's attempts. A dtype with noise of its own says nothing about them."""
        engine = str(self.cell["engine"])
        asked = {"device": self.asked.device, "dtype": self.asked.dtype, "scenario": self.asked.scenario}
        asked |= {
            "platform": self.asked.platform,
            "browser": self.cell.get("browser"),
            "guest": self.options.get("guest"),
        }
        return Chooser(
            self.attempts,
            self.exporter,
            self.store,
            self.compiled,
            None if self.limit is None else self.wrong_by,
            {"engine": engine, "versions": versions((engine,)), "limit": self.limit and asdict(self.limit), **asked},
        )

    def wrong_by(self, running: Running) -> float | None:
        """How far the numbers of a first run are off where they are wrong, None where without bound; 0 otherwise."""
        if running.run_ms is None or running.artefact.silent:
            return 0.0
        found, expected = generation.comparable(self.first(running), running.artefact.reference())
        limit = self.limit_of(running.artefact) or 0.0
        compared = numerics.compare(found, expected, self.asked.dtype).report(limit, "")
        if compared["pass"]:
            compared = further.judged(compared, *self.samples(running))
        return 0.0 if compared["pass"] else compared["max_rel"]

    def first(self, running: Running) -> Tensors:
        """What the first run gave: read before another one writes over it."""
        if self._first[0] is not running.compiled:
            self._first = running.compiled, sampling.tensors(running.compiled.outputs())
        return self._first[1]

    def samples(self, running: Running) -> Rows:
        """How far the runs of the other samples are off, and which of them say nothing."""
        if self._samples[0] is not running.compiled:
            self.first(running)
            self._samples = running.compiled, self._sampled(running)
        return self._samples[1]

    def _sampled(self, running: Running) -> Rows:
        if self.cell.get("front_end") or not running.artefact.sampled:  # a front end is given the material of inputs
            return [], []
        clock = self.clock(running.compiled)
        least = numerics.LEAST_SNR_DB.get(self.asked.dtype)
        judge = sampling.Judge(self.asked.dtype, self.limit_of(running.artefact), least)
        with self.emit.in_phase("samples"):
            return sampling.rows(running.artefact, running.compiled, judge, clock.once)

    def compiled(self, artefact: Artefact, point: Mapping[str, Any], attempt: Attempt) -> Compiled:
        """The artefact on its engine, each step in its phase."""
        made_for = self.engine_of(attempt)
        with self.emit.in_phase("convert"):
            prepared = made_for.prepare(self.exported(artefact, point))
        with self.emit.in_phase("compile"):
            return made_for.compile(prepared)

    def exported(self, artefact: Artefact, point: Mapping[str, Any]) -> Exported:
        """What a backend sees of an artefact."""
        return replace(
            artefact.exported(lambda n: [self._calibrating(artefact, point, i) for i in range(n)]),
            front_end=front_ends.of_graph(self.torch.recipe, artefact["graph"]["inputs"]),
        )

    def engine_of(self, attempt: Attempt) -> Backend:
        """The backend that an attempt runs on."""
        return self.made_for(attempt, self.store) if attempt.settings else self.backend

    def made_for(self, attempt: Attempt, store: Store) -> Backend:
        """A backend of the job's kind, with the settings of an attempt and a store."""
        return type(self.backend)(replace(self.asked, settings=attempt.settings), store)

    def clock(self, compiled: Compiled) -> timing.Clock:
        """Who times the runs: what is compiled, where it has a clock of its own, else the harness."""
        return compiled.clock or timing.Harness(compiled.run, self.torch.device)

    def _memory(self, compiled: Compiled) -> dict[str, int | None]:
        """What an engine in processes of its own held there, else what this process did."""
        told = compiled.memory()
        return self.host.report() if told is None else told

    def _inside(self, items: int) -> str:
        """What a sample's time is of."""
        if self.cell.get("front_end"):
            return WHOLE
        return INSIDE if items == 1 else IN_FLIGHT.format(items)

    def report(self, running: Running, found: Tensors, placement: Placement | None) -> dict[str, Any]:
        """What the reports of both kinds have in common."""
        artefact, compiled = running.artefact, running.compiled
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
                "found": artefact["key"] not in self.exporter.made,
                "via": artefact.form.via,
                "way": running.attempt.label(),
                "earlier": running.report(),
                **{name: graph[name] for name in ("opset", "exporter", "steps", "check")},
            },
            "memory": {"device_peak_bytes": None, "framework_peak_bytes": None} | self._memory(compiled),
            "subject_hash": artefact["subject_hash"],
            "parameters": artefact["parameters"],
            "threads": self.torch.threads,
            "attn_implementation": artefact["attention"],
            "weights_digest": artefact["weights_digest"],
            "weights_missing": artefact["missing"],
            "weights_unused": artefact["unused"],
            "inputs_inside": self._inside(compiled.items),
            "energy_j": None,
            "generation": compiled.generation(),
            "context": self.torch.watch.report(self.torch.threads, self.torch.precision) | facts,
        }

"""The torch engine: runs `check` and `time` jobs, as docs/protocol.md has them.

A `Session` is what both kinds share: threads, device, model, inputs, context.
`check` (in `checks`) runs each point once and compares it with a reference and with a
damaged model; `time` loads once and samples each point. Wrong numbers are reported, not
raised; every exception that reaches the caller is a failure with its own type.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch

from assay_runner.checking import placement, reference, tolerances
from assay_runner.checking.further import Further
from assay_runner.checking.tolerances import Tolerance
from assay_runner.engines import preimporting, timing
from assay_runner.engines.torch import checks, flying, loops, moving, pipelining, sampling, splitting, training
from assay_runner.errors import BadRecipe, MissingWeights, Unsuited
from assay_runner.machine import context, devices, memory
from assay_runner.process import linux
from assay_runner.subjects import front_ends, generation, identity, inputs, outputs
from assay_runner.subjects.outputs import Tensors
from assay_runner.subjects.programs import building
from assay_runner.subjects.programs.continuing import Continuation

MODES = ("infer", generation.MODE, training.MODE, pipelining.MODE)
INSIDE = "forward only; inputs resident on the device"


def run(job: Mapping[str, Any], emit: Any) -> None:
    """Runs a job and reports through emit."""
    kinds: dict[str, Callable[[Session], None]] = {"check": checks.check, "time": measure}
    if job.get("kind") not in kinds:
        raise BadRecipe(f"the torch engine has no job {job.get('kind')!r}: it has {', '.join(kinds)}")
    way = (job.get("cell") or {}).get("parallel")
    if way and way != splitting.LAYERS:
        importlib.import_module("assay_runner.engines.torch.sharing").run(job, emit)  # by name: it makes sessions too
        return
    session = Session(job, emit)
    if session.mode == training.MODE and job["kind"] == "check":
        training.check(session)
    else:
        kinds[job["kind"]](session)


class Session:
    """One job under way."""

    def __init__(self, job: Mapping[str, Any], emit: Any) -> None:
        if job.get("threads"):
            torch.set_num_threads(int(job["threads"]))
        self.job, self.emit = job, emit
        self.cell: Mapping[str, Any] = job.get("cell") or {}
        self.recipe: Mapping[str, Any] = job.get("recipe") or {}
        if not self.recipe.get("class"):
            raise BadRecipe("the job has no recipe that names a class")
        self.mode: str = self.cell.get("mode") or "infer"
        if self.mode not in MODES:
            raise Unsuited(f"the torch engine has no mode {self.mode!r}: it has {', '.join(MODES)}")
        if self.mode == generation.MODE:
            self.recipe = generation.recipe(self.recipe, self.cell)
        if self.cell.get("front_end"):
            self.recipe = front_ends.recipe(self.recipe)
        self.points: list[Mapping[str, Any]] = job.get("points") or [{"batch": 1}]
        self.seed = int(self.cell.get("seed") or 0)
        self.dtype_name = self.cell.get("dtype") or "fp32"
        self.dtype = devices.dtype(self.dtype_name)
        self.host = memory.Host()
        self.precision = devices.exact_float32()
        self.device = devices.Device(self.cell.get("platform") or "cpu", str(self.cell.get("device") or ""))
        self.watch = context.Watch(self.device)
        with emit.in_phase("import"):  # where the parent did not; late imports are the harness's, not the model's
            preimporting.preload(job)
        self.threads = torch.get_num_threads()
        self.split: dict[str, Any] | None = None
        self.opened = False

    @property
    def available(self) -> int | None:
        """Bytes of host memory that the job may still take."""
        return memory.available()

    def built(self) -> building.Built:
        """The cell's model, on the CPU, each step in its phase."""
        weights = self.cell.get("weights") or "random"
        if weights == "random":
            with self.emit.in_phase("build"):
                building.refuse_too_large(self.recipe, self.dtype.itemsize, self.available)
                return self._make()
        with self.emit.in_phase("read"):
            return self._load()

    def _make(self, attention: str | None = None) -> building.Built:
        return building.build(
            self.recipe, self.dtype, self.seed, attention=attention, threads=self.threads, available=self.available
        )

    def _load(self, attention: str | None = None) -> building.Built:
        given = self.job.get("weights") or {}
        if not given.get("folder"):
            raise MissingWeights("the job does not say in which folder the weights are")
        return building.load(
            self.recipe,
            given["folder"],
            self.dtype,
            self.seed,
            attention=attention,
            threads=self.threads,
            pickle=bool(given.get("pickle")),
        )

    def rebuilt(self, attention: str) -> building.Built:
        """The same model with another attention implementation."""
        weights = self.cell.get("weights") or "random"
        return self._make(attention) if weights == "random" else self._load(attention)

    @property
    def narrow(self) -> bool:
        """Whether float32 on the CPU is reference enough."""
        return not self.device.cpu or self.dtype is not torch.float32

    def drawing(self, model: torch.nn.Module) -> AbstractContextManager[Any]:
        """Inside, the model draws what it draws in its reference. Never around a timed run: it takes time."""
        return reference.drawing(model, torch.float32) if self.narrow else nullcontext()

    @property
    def tolerance(self) -> Tolerance:
        """How far the cell's outputs may be from the reference's."""
        return tolerances.of_cell(self.recipe, self.cell, self.dtype_name)

    @property
    def sample_tolerance(self) -> Tolerance:
        """How far they may be on the samples beside the first. Where the reference is the same code in float64, the
        error is that code's rounding: the table tells it from another way through the model."""
        return self.tolerance if self.narrow else Tolerance(self.tolerance.most)

    def inputs(self, point: Mapping[str, Any], other: int = 0) -> dict[str, torch.Tensor]:
        """A point's inputs on the CPU; other chooses another stream. Those of a pipeline are read of material."""
        if self.mode == pipelining.MODE:
            return pipelining.reader(self, point, self.seed + other).read()
        return inputs.make(self.recipe, point, self.seed + other, self.dtype)

    @property
    def is_tiny(self) -> bool:
        """Whether it is a tiny model, called once."""
        return self.has_size_tiny and not self.recipe.get("program")

    @property
    def has_size_tiny(self) -> bool:
        """Whether it is a tiny model, in one inference, which may be several calls."""
        size = self.cell.get("size") or self.recipe.get("size")
        return size == "tiny" and self.cell.get("mode") != generation.MODE

    def samples(self, built: building.Built, point: Mapping[str, Any]) -> tuple[list[Further], list[dict[str, str]]]:
        """What the reference gives of the other samples of a point. A tiny model's only: what a model does with its
        inputs does not change with its size. On the CPU in fp32 the reference is the same code, and masks are what it
        may still take another way for."""
        if not self.is_tiny:
            return [], []
        made = sampling.make(self.recipe, point, self.seed, self.dtype, masked=not self.narrow)
        return sampling.expected(built, torch.float32 if self.narrow else torch.float64, made, self.forward)

    def placed(self, tensors: Mapping[str, torch.Tensor]) -> dict[str, torch.Tensor]:
        """The same tensors on the device."""
        return {name: t.to(self.device.torch) for name, t in tensors.items()}

    def forward(self, model: torch.nn.Module, tensors: Mapping[str, torch.Tensor]) -> Tensors:
        """One inference, its outputs brought to the CPU. What the model draws inside is the same each time."""
        torch.manual_seed(self.seed)
        return self.called(model, tensors)

    def called(self, model: torch.nn.Module, tensors: Mapping[str, torch.Tensor]) -> Tensors:
        """The same with whatever seed is set."""
        with self.device.inference():
            return outputs.home(outputs.flatten(model(**tensors, **self.recipe.get("call", {}))))

    def open_device(self) -> None:
        """Opens the device, in a phase of its own; once."""
        if not self.opened:
            with self.emit.in_phase("device"):
                self.device.open()
                self.watch.opened()
            self.opened = True

    def to_device(self, built: building.Built) -> None:
        """Opens the device and moves the model there, in phases of their own."""
        if self.cell.get("parallel") == splitting.LAYERS:
            splitting.refuse_one(self.device)
        if self.device.cpu:
            return
        self.open_device()
        with self.emit.in_phase("to_device"):
            if self.cell.get("parallel") == splitting.LAYERS:
                self.split = splitting.split(built.model, self.device)
            else:
                built.model.to(self.device.torch)
            self.device.synchronize()

    def report(self, built: building.Built, point: Mapping[str, Any], found: Tensors) -> dict[str, Any]:
        """What the reports of both kinds have in common."""
        return {
            "outputs": outputs.describe(found),
            "numerics": None,
            "numerics_note": "",
            "placement": {"device": placement.seen(built.model, found), "nodes": None},
            "memory": {
                **self.host.report(),
                "device_baseline_bytes": self.device.baseline,
                "device_peak_bytes": self.device.used(),
                "framework_peak_bytes": None,
            },
            "subject_hash": identity.digest(self.recipe, built.weights, point, self.seed),
            "parameters": built.parameters,
            "threads": self.threads,
            "attn_implementation": built.attention,
            "weights_digest": built.weights["weights"] if "missing" in built.weights else "",
            "weights_missing": built.weights.get("missing", []),
            "weights_unused": built.unused,
            "inputs_inside": INSIDE,
            "energy_j": None,
            "ranks": self.split,
            "generation": told(built.model),
            "context": self.watch.report(self.threads, self.precision),
        }


def told(model: torch.nn.Module) -> dict[str, Any] | None:
    """What the generations of a model took since they count; None where it does not generate."""
    return model.generation() if isinstance(model, Continuation) else None


def forget(model: torch.nn.Module) -> None:
    """The generations so far do not count."""
    if isinstance(model, Continuation):
        model.clock.forget()


def measure(session: Session) -> None:
    """Loads once, then times each point and looks at memory afterwards."""
    rule = timing.Rule.of(session.job.get("timing"))
    built = session.built()
    session.to_device(built)
    for index, point in enumerate(session.points):
        session.emit.index = index
        timed = {training.MODE: training.measure, pipelining.MODE: pipelining.measure}.get(session.mode, _timed)
        timed = moving.measure if session.cell.get("scenario") == moving.SCENARIO else timed
        session.emit.point(index, timed(session, built, point, rule))


def _timed(session: Session, built: building.Built, point: Mapping[str, Any], rule: timing.Rule) -> dict[str, Any]:
    device, model = session.device, built.model
    linux.reset_peak()  # each point has a peak of its own; what is loaded counts in all
    arguments = {**session.placed(session.inputs(point)), **session.recipe.get("call", {})}

    def call() -> None:
        model(**arguments)

    if session.cell.get("scenario") == "throughput":
        return flying.measure(session, built, point, rule, arguments)
    with device.inference(), timing.quiet():
        _, timed = loops.timed(session, call, rule, lambda: forget(model))
        tokens = told(model)
        found, peak = _afterwards(device, model, arguments)
    report = session.report(built, point, found)
    report["memory"]["framework_peak_bytes"] = peak
    report["generation"] = tokens
    return report | timed


def _afterwards(
    device: devices.Device, model: torch.nn.Module, arguments: dict[str, Any]
) -> tuple[Tensors, int | None]:
    """One more inference, apart from the timed ones, for the outputs' shapes and the allocator's peak."""
    device.empty_cache()
    device.reset_framework_peak()
    found = outputs.flatten(model(**arguments))
    device.synchronize()
    return found, device.framework_peak()

"""What an engine of exported graphs is to the rest: two small contracts, and the table of those there are."""

from __future__ import annotations

import importlib
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from assay_runner.exporting.store import Store

Arrays = Mapping[str, np.ndarray]

BACKENDS = {
    "onnxruntime": "engines.onnxruntime.backend.OnnxRuntime",
    "openvino": "engines.openvino.backend.OpenVINO",
    "qnn": "engines.qnn.backend.QNN",
    "coreml": "engines.coreml.backend.CoreML",
    "ort-web": "engines.web.backend.Web",
    "wasm": "engines.web.backend.Web",
}
"""The cell's engine → module and class of this package."""


@dataclass(frozen=True)
class Asked:
    """What the cell asks of an engine."""

    platform: str
    device: str  # "CPU", "sm8650", …; "" is the default one
    dtype: str
    threads: int  # 0 leaves the engine's own choice
    scenario: str = "latency"  # or throughput
    profile: bool = False  # counters may be on: nothing is timed
    mode: str = "infer"  # or generate
    warm: bool = False  # what is compiled on first need is compiled before the first request
    blocks: Mapping[str, int] = field(default_factory=dict)  # of weights of few bits, by the cell's names; 0 is usual
    options: Mapping[str, Any] = field(default_factory=dict)  # the job's
    settings: Mapping[str, str] = field(default_factory=dict)  # of the engine's own, beside its usual ones


@dataclass(frozen=True)
class LeftOver:
    """Operations that did not run where they were asked to."""

    operator: str
    count: int
    where: str
    why: str = ""


@dataclass(frozen=True)
class Placement:
    """Which nodes ran where; nodes are counted as the engine counts them, after its own fusing."""

    device: str
    nodes: Mapping[str, int] | None = None
    left_over: Sequence[LeftOver] = ()
    counters: Sequence[Mapping[str, Any]] = ()  # operator, kernel, count, us: what one run spent where

    def beside(self, other: Placement) -> Placement:
        """Both together: graphs of one model on one device."""
        known = self.nodes is not None and other.nodes is not None
        nodes = dict(Counter(self.nodes) + Counter(other.nodes)) if known else None
        left, counters = (*self.left_over, *other.left_over), (*self.counters, *other.counters)
        return Placement(self.device, nodes, left, counters)

    def report(self) -> dict[str, Any]:
        """As the protocol has it."""
        return {
            "device": self.device,
            "nodes": dict(self.nodes) if self.nodes is not None else None,
            "left_over": [asdict(row) for row in self.left_over],
            "counters": [dict(row) for row in self.counters],
        }


@dataclass(frozen=True)
class Exported:
    """The part of an artefact that a backend sees: the graph in its file, and inputs by rule to calibrate with."""

    key: str
    graph: Path  # model.onnx; large weights lie beside it
    inputs: Sequence[Mapping[str, Any]]  # name, shape, dtype of the graph's own, in order
    outputs: Sequence[Mapping[str, Any]]
    calibration: Callable[[int], list[Arrays]]  # that many sets of inputs, none of them the checked one
    encoder: Exported | None = None  # of generation, the graph that runs once before
    front_end: Mapping[str, Any] | None = (
        None  # what makes one of the inputs of raw material, which is then bound instead
    )


class Compiled(Protocol):
    """A graph that is ready to run."""

    evidence: str
    """"" when it runs on what the cell names, "emulated" or "compiled" otherwise."""

    key: str
    """Of the store's entry that holds what the engine reads: what a user is given to use elsewhere."""

    items: int
    """How many inferences one run makes: one, but where throughput is measured."""

    def bind(self, feeds: Arrays) -> None:
        """Puts the inputs to where the engine takes them from: no part of a timed run."""

    def run(self) -> None:
        """One inference, awaited."""

    def outputs(self) -> dict[str, np.ndarray]:
        """What the last run gave, by the names of the graph."""

    def placement(self) -> Placement:
        """Where the nodes ran, or were put."""

    def facts(self) -> dict[str, Any]:
        """What the context of a result should tell of the engine: versions, precision, streams, threads."""


class Backend(Protocol):
    """An engine. It is made for one job, after the fork: importing it may start threads."""

    def __init__(self, asked: Asked, store: Store) -> None: ...

    def prepare(self, exported: Exported) -> Any:
        """Makes of the graph what the engine reads, kept in the store: the phase `convert`."""

    def compile(self, prepared: Any) -> Compiled:
        """Loads it on the device: the phase `compile`."""


def backend(engine: str) -> type[Backend]:
    """The class of an engine, imported now."""
    module, _, name = BACKENDS[engine].rpartition(".")
    return getattr(importlib.import_module(f"assay_runner.{module}"), name)

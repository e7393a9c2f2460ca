"""What an engine of exported graphs is to the rest: two small contracts, which cover all that is ever asked of it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from assay_runner.exporting.store import Store

from .formats import ONNX, Attempt

if TYPE_CHECKING:
    from .timing import Clock

Arrays = Mapping[str, np.ndarray]


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
    warm: bool = False  # what is compiled when first needed is compiled before the first request
    blocks: Mapping[str, int] = field(default_factory=dict)  # of weights of few bits, by the cell's names; 0 is usual
    options: Mapping[str, Any] = field(default_factory=dict)  # the job's
    cell: Mapping[str, Any] = field(default_factory=dict)  # as a whole: for settings that only one engine has
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


@dataclass(frozen=True)
class Meant:
    """What a quantised model means: the same numbers in floating point, computed by other kernels than the engine's
    for quantised ones."""

    run: Callable[[Arrays], Arrays]  # the outputs in order, by the names of the graph
    by: str
    dtype: str = "fp32"  # what the engine computes in where it does not compute in integers
    rounds: bool = False  # activations are rounded too: one that is near a step falls to either side of it


class Compiled(ABC):
    """A graph that is ready to run. What not every engine has is here too, with the answer of one that has it not."""

    evidence: str = ""
    """"" when it runs on what the cell names, "emulated" or "compiled" otherwise."""

    key: str
    """Of the store's entry that holds what the engine reads: what a user is given to use elsewhere."""

    items: int = 1
    """How many inferences one run makes: one, but where throughput is measured."""

    clock: Clock | None = None
    """Who times the runs where that is nearer to them than this process."""

    new_tokens: int | None = None
    """How many tokens a generation has, where that may be set before a run."""

    any_prompt: bool = False
    """Whether a generation takes prompts of any length."""

    @abstractmethod
    def bind(self, feeds: Arrays) -> None:
        """Puts the inputs to where the engine takes them from: no part of a timed run."""

    @abstractmethod
    def run(self) -> None:
        """One inference, awaited."""

    @abstractmethod
    def outputs(self) -> dict[str, np.ndarray]:
        """What the last run gave, by the names of the graph."""

    @abstractmethod
    def placement(self) -> Placement | None:
        """Where the nodes ran, or were put, counted by device; None if not known. Of a check (`Asked.profile`), what
        was left over too."""

    @abstractmethod
    def facts(self) -> dict[str, Any]:
        """What the context of a result should say of the engine: `versions`, its own under the engine's name, and
        precision, streams, threads where it has them."""

    def phases(self) -> dict[str, float]:
        """Milliseconds of the parts of the phase `compile`, by name."""
        return {}

    def memory(self) -> dict[str, int | None] | None:
        """What an engine in processes of its own held there, as a report has it; None for one that runs in this one."""
        return None

    def device_ms(self) -> list[float] | None:
        """Milliseconds of runs by the device's own clock, beside the timed ones; None where it has none."""
        return None

    def generation(self) -> dict[str, Any] | None:
        """What generations took so far; None where a run is not a generation."""
        return None

    def forget(self) -> None:
        """The generations so far do not count: they were the first, or warmed up."""
        return

    def around(self, found: Arrays) -> list[dict[str, Any]] | None:
        """What a library makes around its model, compared; None where nothing but the model is run."""
        return None


def infers(cell: Mapping[str, Any]) -> bool:
    """Whether a cell is plain inference, and no other mode."""
    return (cell.get("mode") or "infer") == "infer"


class Backend(ABC):
    """An engine. It is made for one job, after the fork: importing it may start threads."""

    @classmethod
    def attempts(cls, cell: Mapping[str, Any]) -> tuple[Attempt, ...]:
        """The ways in which it is given a cell's model, in the order in which they are tried; none where it lacks the
        cell's mode."""
        return (Attempt(ONNX),) if infers(cell) else ()

    @abstractmethod
    def __init__(self, asked: Asked, store: Store) -> None:
        """Raises where the engine is not here, or cannot do what is asked."""

    @abstractmethod
    def prepare(self, exported: Exported) -> Any:
        """Makes of the graph what the engine reads, kept in the store: the phase `convert`."""

    @abstractmethod
    def compile(self, prepared: Any) -> Compiled:
        """Loads it on the device: the phase `compile`."""

    def meant(self, prepared: Any, folder: Path) -> Meant | None:
        """What was prepared, in floating point, where the dtype quantises; None where it does not, or where that is not
        known. What it needs on disk goes into the folder, which must outlast it."""
        return None

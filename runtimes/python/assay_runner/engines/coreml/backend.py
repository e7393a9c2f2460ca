"""Core ML: Apple's Neural Engine, GPU and CPU, through coremltools.

coremltools converts on Linux and macOS alike, from a program of torch.export. Only macOS runs the result: elsewhere
the evidence is that it was converted.
"""

from __future__ import annotations

import logging
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import torch

from assay_runner.engines.contract import Arrays, Asked, Backend, Compiled, Exported, LeftOver, Placement, infers
from assay_runner.engines.formats import Attempt, Form
from assay_runner.errors import AbsentDevice, LibraryAbsent, RefusedGraph, UnsupportedDType, UnsupportedOperators
from assay_runner.exporting.quieting import quiet
from assay_runner.exporting.store import Entry, Store, key_of

PROGRAM = Form("torch-program", "torch", "engines.coreml.program.first_good")
PACKAGE = "model.mlpackage"
PRECISIONS = {"fp16": "FLOAT16", "fp32": "FLOAT32"}
UNITS = {"": "ALL", "ane": "CPU_AND_NE", "gpu": "CPU_AND_GPU", "cpu": "CPU_ONLY"}
"""The cell's device → the compute units that Core ML may use. Core ML itself decides among them, node by node."""


@dataclass(frozen=True)
class Prepared:
    """A converted model."""

    exported: Exported
    entry: Entry


class CoreML(Backend):
    """Converts programs to Core ML, and runs them on macOS."""

    @classmethod
    def attempts(cls, cell: Mapping[str, Any]) -> tuple[Attempt, ...]:
        """By a program of torch.export alone."""
        return (Attempt(PROGRAM),) if infers(cell) else ()

    def __init__(self, asked: Asked, store: Store) -> None:
        self._asked, self._store, self._held = asked, store, ExitStack()
        if asked.dtype not in PRECISIONS:
            raise UnsupportedDType(f"Core ML computes in fp16 or fp32, not in {asked.dtype}")
        if asked.device.lower() not in UNITS:
            known = ", ".join(sorted(filter(None, UNITS)))
            raise AbsentDevice(f"Core ML has no device {asked.device!r}: its devices are {known}")
        self._tools = _tools()

    def prepare(self, exported: Exported) -> Prepared:
        """The program as a Core ML package."""
        facts = {
            "of": exported.key,
            "dtype": self._asked.dtype,
            "versions": {"coremltools": self._tools.__version__, "torch": torch.__version__},
        }
        key = key_of({"kind": "coreml", **facts})
        entry = self._store.entry("coreml", key, lambda folder: facts | self._convert(exported, folder))
        return Prepared(exported, self._held.enter_context(entry))

    def compile(self, prepared: Prepared) -> Converted:
        """The model on the device where there is one."""
        return (Running if sys.platform == "darwin" else Converted)(self._asked, self._tools, prepared)

    def _convert(self, exported: Exported, folder: Path) -> dict[str, Any]:
        fitting = _fitting()
        with quiet(logging.WARNING):
            program = fitting.friendly(torch.export.load(exported.graph))
            if missing := fitting.unknown(program):
                raise UnsupportedOperators(f"Core ML has no {_listed(missing)}")
            try:
                model = self._tools.convert(
                    program,
                    outputs=[self._tools.TensorType(name=f"output_{i}") for i in range(len(exported.outputs))],
                    compute_precision=getattr(self._tools.precision, PRECISIONS[self._asked.dtype]),
                    minimum_deployment_target=self._tools.target.iOS18,
                    skip_model_load=True,
                )
            except (NotImplementedError, ValueError, RuntimeError, TypeError, KeyError) as error:
                raise RefusedGraph(
                    f"coremltools cannot convert the program: {type(error).__name__}: {error}"
                ) from error
            model.save(str(folder / PACKAGE))
        return {"operators": operators(model)}


class Converted(Compiled):
    """A package that this machine cannot run."""

    evidence = "compiled"

    def __init__(self, asked: Asked, tools: Any, prepared: Prepared) -> None:
        self.key = prepared.entry.manifest["key"]
        self._asked, self._tools, self._prepared = asked, tools, prepared

    def bind(self, feeds: Arrays) -> None:
        """Nothing runs here."""

    def run(self) -> None:
        """Refuses: only macOS runs Core ML."""
        raise AbsentDevice("Core ML runs on macOS only: this model was converted, which is all that can be done here")

    def outputs(self) -> dict[str, np.ndarray]:
        """None."""
        return {}

    def placement(self) -> Placement:
        """All operations were converted; where they run is Core ML's to decide on the device."""
        total = sum(self._prepared.entry.manifest["operators"].values())
        return Placement("coreml", {"coreml": total})

    def facts(self) -> dict[str, Any]:
        """Version and precision."""
        found = not self._prepared.entry.made
        return {"versions": {"coremltools": self._tools.__version__}, "package_found": found}


class Running(Converted):
    """A package on macOS."""

    evidence = ""

    def __init__(self, asked: Asked, tools: Any, prepared: Prepared) -> None:
        super().__init__(asked, tools, prepared)
        self._units = getattr(tools.ComputeUnit, UNITS[asked.device.lower()])
        self._model = tools.models.MLModel(str(prepared.entry.path(PACKAGE)), compute_units=self._units)
        self._feeds: dict[str, np.ndarray] = {}
        self._found: dict[str, Any] = {}

    def bind(self, feeds: Arrays) -> None:
        """Whole numbers have 32 bits in Core ML."""
        self._feeds = {name: a.astype(np.int32) if a.dtype == np.int64 else a for name, a in feeds.items()}

    def run(self) -> None:
        """One inference, awaited."""
        self._found = self._model.predict(self._feeds)

    def outputs(self) -> dict[str, np.ndarray]:
        """What the last run gave, in the program's order."""
        names = [spec["name"] for spec in self._prepared.exported.outputs]
        return {name: np.asarray(self._found[f"output_{i}"]) for i, name in enumerate(names)}

    def placement(self) -> Placement:
        """As Core ML plans it: each operation on the unit it prefers."""
        plan = self._tools.models.compute_plan.MLComputePlan.load_from_path(
            self._model.get_compiled_model_path(), compute_units=self._units
        )
        seen = Counter(_planned(plan, plan.model_structure.program.functions["main"].block))
        nodes: Counter[str] = Counter()
        for (unit, _), n in seen.items():
            nodes[unit] += n
        wanted = self._asked.device.lower()
        strayed = [(key, n) for key, n in seen.most_common() if wanted and key[0] != wanted]
        return Placement("coreml", dict(nodes), [LeftOver(operator, n, unit) for (unit, operator), n in strayed])


_UNIT_NAMES = {"MLNeuralEngineComputeDevice": "ane", "MLGPUComputeDevice": "gpu", "MLCPUComputeDevice": "cpu"}


def _planned(plan: Any, block: Any) -> Iterator[tuple[str, str]]:
    """Unit and operator of each operation that computes something."""
    for operation in block.operations:
        usage = plan.get_compute_device_usage_for_mlprogram_operation(operation)
        if usage is not None:
            unit = type(usage.preferred_compute_device).__name__
            yield _UNIT_NAMES.get(unit, unit), operation.operator_name


def operators(model: Any) -> dict[str, int]:
    """The operations of a converted model, constants left out."""
    functions = model.get_spec().mlProgram.functions.values()
    blocks = [block for function in functions for block in function.block_specializations.values()]
    return dict(Counter(op.type for block in blocks for op in block.operations if op.type != "const").most_common())


def _listed(missing: dict[str, int]) -> str:
    return ", ".join(f"{name} ×{n}" for name, n in missing.items())


def _fitting() -> ModuleType:
    """What makes programs fit; it imports coremltools, which may be absent."""
    from . import converting as module

    return module


def _tools() -> Any:
    try:
        with quiet(logging.WARNING):
            import coremltools
    except ImportError as error:
        raise LibraryAbsent("coremltools is not installed: pip install coremltools, on Linux or macOS") from error
    return coremltools

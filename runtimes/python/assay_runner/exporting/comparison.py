"""Compares what a written graph gives with torch. ONNX Runtime on the CPU runs those in ONNX."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import torch

from assay_runner.checking import numerics, tolerances
from assay_runner.checking.further import NOTHING, Further, worst
from assay_runner.checking.tolerances import Tolerance
from assay_runner.exporting.call import Subject
from assay_runner.subjects import generation
from assay_runner.subjects.outputs import Tensors

FLAT = Tolerance(tolerances.TABLE["fp32"])
REFERENCE = "torch cpu fp32"
PLAINLY = "ONNX Runtime without optimisation"
"""Who runs a graph operator by operator, as it is written: no kernel for integers takes part in a quantised one."""


def check(path: Path, subject: Subject, names: Sequence[str], held: Collection[str]) -> dict[str, Any]:
    """What ONNX Runtime makes of a graph whose outputs have these names, on every sample that it takes."""
    import onnxruntime

    return sampled(f"onnxruntime {onnxruntime.__version__}", lambda: Graph(path, names), subject, held)


def sampled(engine: str, load: Callable[[], Runnable], subject: Subject, held: Collection[str]) -> dict[str, Any]:
    """What an engine makes of a graph on the sample that was traced, and on the others that it takes: the `check`. held
    are the inputs that are constants of the graph. Any other may have every value, also where the graph has no such
    input: the model does not use it, or all that it decided was fixed, and then the numbers are wrong."""
    try:
        graph = load()
        first = judged(engine, graph.run(subject.tensors), subject.expected, limit=subject.limit)
        samples = [_sample(graph, subject, further, held) for further in subject.further] if first["pass"] else []
    except Exception as error:  # noqa: BLE001 - engines raise types of their own
        return {"engine": engine, "error": f"{type(error).__name__}: {error}".strip()[-500:]}
    if (wrong := worst(samples)) is not None:
        first |= {"max_rel": wrong["max_rel"], "pass": False, "sample": wrong["name"]}
    return first | ({"samples": samples} if samples else {})


def _sample(graph: Runnable, subject: Subject, further: Further, held: Collection[str]) -> dict[str, Any]:
    """A sample's row. A graph is not given a sample that differs from the first in an input that it holds."""
    given = further.sample.tensors
    fixed = [name for name in held if not torch.equal(subject.tensors[name], given[name])]
    if fixed:
        return {"name": further.sample.name, "fixed": fixed}
    return further.row(graph.run(given), subject.limit) or further.left(NOTHING)


def judged(
    engine: str, found: Tensors, expected: Tensors, reference: str = REFERENCE, limit: Tolerance = FLAT
) -> dict[str, Any]:
    """What an engine gave, against the expected outputs: the `check` of a graph."""
    report = numerics.compare(found, expected).report(limit, reference)
    return {"engine": engine, "max_rel": report["max_rel"], "pass": report["pass"]}


def held(run: Callable[[], Tensors], expected: Tensors, reference: str = REFERENCE) -> dict[str, Any]:
    """What comes out of a run of ONNX Runtime, compared with the expected outputs."""
    import onnxruntime

    engine = f"onnxruntime {onnxruntime.__version__}"
    try:
        found = run()
    except Exception as error:  # noqa: BLE001 - the runtime raises types of its own for each status
        return {"engine": engine, "error": f"{type(error).__name__}: {error}".strip()[:500]}
    return judged(engine, found, expected, reference)


def continued(engine: str, made: Mapping[str, np.ndarray], expected: Tensors) -> dict[str, Any]:
    """What an engine generated, compared with the expected steps up to where the choices part."""
    found = {name: torch.from_numpy(array) for name, array in made.items()}
    return judged(engine, *generation.comparable(found, expected))


class Runnable(Protocol):
    """A graph that is loaded: the names of its inputs, and what it gives, by the names of the model's outputs."""

    inputs: Collection[str]

    def run(self, tensors: Mapping[str, torch.Tensor]) -> Tensors:
        """One inference. Inputs that the graph has not are ignored."""


class Graph:
    """A graph in ONNX, loaded by ONNX Runtime on the CPU."""

    def __init__(self, path: Path | bytes, names: Sequence[str] | None = None, optimised: bool = True) -> None:
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.log_severity_level = 4
        options.intra_op_num_threads = torch.get_num_threads()
        if not optimised:
            options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        self._session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
        self._names = names or [output.name for output in self._session.get_outputs()]
        self.inputs = [given.name for given in self._session.get_inputs()]
        self._types = {given.name: _TYPES.get(given.type) for given in self._session.get_inputs()}

    def run(self, tensors: Mapping[str, torch.Tensor], instead: Mapping[str, np.ndarray] | None = None) -> Tensors:
        """What it gives, in the graph's order and by its names, or by those that were given for them. `instead` is what
        takes the place of initialisers that are inputs too."""
        results = self._session.run(None, {name: tensors[name].numpy() for name in self.inputs} | dict(instead or {}))
        return {name: torch.from_numpy(array) for name, array in zip(self._names, results, strict=True)}

    def arrays(self, feeds: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """The same of arrays, which are taken in the types that the graph has: it may have been rewritten for whole
        numbers of 32 bits."""
        fitted = {name: feeds[name].astype(kind or feeds[name].dtype, copy=False) for name, kind in self._types.items()}
        return dict(zip(self._names, self._session.run(None, fitted), strict=True))


_TYPES: Mapping[str, type] = {"tensor(float)": np.float32, "tensor(int32)": np.int32, "tensor(int64)": np.int64}
"""The types of inputs that are exchanged for each other."""


def ran(path: Path, tensors: Mapping[str, torch.Tensor], optimised: bool = True) -> Tensors:
    """What ONNX Runtime gives on the CPU, in the graph's order and by its names."""
    return Graph(path, optimised=optimised).run(tensors)

"""Compares what a written graph gives with torch. ONNX Runtime on the CPU runs those in ONNX."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

from assay_runner.checking import numerics
from assay_runner.exporting.call import Subject
from assay_runner.subjects import generation
from assay_runner.subjects.outputs import Tensors

LIMIT = numerics.TOLERANCE["fp32"]
REFERENCE = "torch cpu fp32"


def check(path: Path, subject: Subject, names: Sequence[str]) -> dict[str, Any]:
    """What ONNX Runtime makes of a graph whose outputs have these names."""
    return held(lambda: dict(zip(names, ran(path, subject.tensors).values(), strict=True)), subject.expected)


def judged(engine: str, found: Tensors, expected: Tensors, reference: str = REFERENCE) -> dict[str, Any]:
    """What an engine gave, against the expected outputs: the `check` of a graph."""
    report = numerics.compare(found, expected).report(LIMIT, reference)
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


def ran(path: Path, tensors: Mapping[str, torch.Tensor], optimised: bool = True) -> Tensors:
    """What ONNX Runtime gives on the CPU, in the graph's order and by its names."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = torch.get_num_threads()
    if not optimised:
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    feeds = {i.name: tensors[i.name].numpy() for i in session.get_inputs()}
    names = [output.name for output in session.get_outputs()]
    return {name: torch.from_numpy(array) for name, array in zip(names, session.run(None, feeds), strict=True)}

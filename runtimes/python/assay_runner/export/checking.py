"""Runs a written graph in ONNX Runtime on the CPU and compares it with torch."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

from assay_runner import numerics
from assay_runner.export.subject import Subject
from assay_runner.outputs import Tensors

LIMIT = numerics.TOLERANCE["fp32"]


def check(path: Path, subject: Subject, names: Sequence[str]) -> dict[str, Any]:
    """What ONNX Runtime makes of a graph whose outputs have these names."""
    import onnxruntime

    engine = f"onnxruntime {onnxruntime.__version__}"
    try:
        found = _run(path, subject, names)
    except Exception as error:  # noqa: BLE001 - the runtime raises types of its own for each status
        return {"engine": engine, "error": f"{type(error).__name__}: {error}".strip()[:500]}
    report = numerics.compare(found, subject.expected).report(LIMIT, "torch cpu fp32")
    return {"engine": engine, "max_rel": report["max_rel"], "pass": report["pass"]}


def _run(path: Path, subject: Subject, names: Sequence[str]) -> Tensors:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = torch.get_num_threads()
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    feeds = {i.name: subject.tensors[i.name].numpy() for i in session.get_inputs()}
    results = session.run(None, feeds)
    return {name: torch.from_numpy(result) for name, result in zip(names, results, strict=True)}

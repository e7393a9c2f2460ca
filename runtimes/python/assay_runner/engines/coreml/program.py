"""Writes a torch model as torch.export's own program, for converters that read nothing else.

The exporters are transformers' own, which knows what torch.export fails on in its models, and torch's. The check
runs the program in torch. Everything else is as for ONNX.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from torch.export import ExportedProgram

from assay_runner.exporting import comparison, exporters, trying, ways
from assay_runner.exporting.call import Subject, traceable
from assay_runner.exporting.following import Place, retraced
from assay_runner.exporting.graph import Graph
from assay_runner.exporting.ways import Way
from assay_runner.subjects.outputs import Tensors

FILE = "model.pt2"


def first_good(subject: Subject, folder: Path) -> Graph:
    """Writes the first program that gives the model's numbers."""
    return trying.only_passing(subject, folder, WAYS, _export)


def _export(way: Way, subject: Subject, folder: Path) -> tuple[ExportedProgram, Graph]:
    program, fixed = trying.exported(way, subject)
    torch.export.save(program, folder / FILE)
    return program, Graph(
        file=FILE,
        opset=0,
        inputs=_described(fixed.tensors),
        outputs=_described(subject.expected),
        exporter=way.exporter.name(),
        steps=trying.frozen(subject, fixed),
        tried=[],
        operators=operators(program),
        check=_check(program, fixed),
    )


def operators(program: ExportedProgram) -> dict[str, int]:
    """How often each operator stands in a program."""
    called = Counter(str(node.target) for node in program.graph.nodes if node.op == "call_function")
    return dict(sorted(called.items()))


def _described(tensors: Any) -> list[dict[str, Any]]:
    return [
        {"name": name, "shape": list(t.shape), "dtype": str(t.dtype).removeprefix("torch.")}
        for name, t in tensors.items()
    ]


def _check(program: ExportedProgram, subject: Subject) -> dict[str, Any]:
    """What torch makes of the program."""
    with torch.inference_mode():
        found: Tensors = program.module()(**subject.tensors)
    return comparison.judged(f"torch {torch.__version__}", found, subject.expected)


def _by_transformers(subject: Subject) -> ExportedProgram:
    from transformers.exporters.exporter_dynamo import DynamoConfig, DynamoExporter

    def trace(lines: frozenset[Place]) -> ExportedProgram:
        with traceable(subject, lines), exporters.nothing_beforehand():
            return DynamoExporter().export(subject.model, dict(subject.tensors), DynamoConfig())

    return retraced(trace)


def _by_torch(subject: Subject) -> ExportedProgram:
    def trace(lines: frozenset[Place]) -> ExportedProgram:
        with traceable(subject, lines), torch.no_grad():
            return torch.export.export(subject.model, (), dict(subject.tensors), strict=False)

    return retraced(trace)


def _torch() -> str:
    return f"torch.export {torch.__version__.partition('+')[0]}"


TRANSFORMERS = replace(exporters.TRANSFORMERS, export=_by_transformers)
TORCH = replace(exporters.TORCH, name=_torch, export=_by_torch)

# The converters that read programs take fixed shapes only.
WAYS = tuple(way for way in ways.table(TRANSFORMERS, TORCH) if not way.dynamic)

"""Writes an ONNX model, and says what is in it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import onnx_ir

from assay_runner.subjects.outputs import Tensors

FILE = "model.onnx"
WEIGHTS = "model.onnx.data"
INLINE_BYTES = 256 << 20  # more weights than this stand in a file of their own: a protobuf holds 2 GB at most


def write(model: onnx_ir.Model, folder: Path) -> None:
    """Writes the model, its weights beside it where they are large. What lay there before is removed."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in (FILE, WEIGHTS):
        (folder / name).unlink(missing_ok=True)
    save(model, folder, FILE)


def save(model: onnx_ir.Model, folder: Path, name: str) -> None:
    """The same under a name, beside others."""
    held = sum(value.const_value.nbytes for value in model.graph.initializers.values())
    onnx_ir.save(model, folder / name, external_data=f"{name}.data" if held > INLINE_BYTES else None)


def describe(values: Iterable[onnx_ir.Value]) -> list[dict[str, Any]]:
    """Name, shape and dtype of each; a free axis is a string, a shape that is not known None."""
    return [
        {
            "name": value.name,
            "shape": None if value.shape is None else [d if isinstance(d, int) else str(d) for d in value.shape],
            "dtype": None if value.dtype is None else str(value.dtype.numpy()),
        }
        for value in values
    ]


def told(tensors: Tensors) -> list[dict[str, Any]]:
    """The same of tensors: what goes into a generation and comes out of it, of which a graph sees a step."""
    return [{"name": n, "shape": list(t.shape), "dtype": str(t.numpy().dtype)} for n, t in tensors.items()]


def operators(model: onnx_ir.Model) -> dict[str, int]:
    """How often each operator stands in the graph, those of subgraphs and functions included."""
    graphs = [model.graph, *model.functions.values()]
    counts = Counter(_operator(node) for graph in graphs for node in graph.all_nodes())
    return dict(sorted(counts.items()))


def _operator(node: onnx_ir.Node) -> str:
    return f"{node.domain}::{node.op_type}" if node.domain else node.op_type

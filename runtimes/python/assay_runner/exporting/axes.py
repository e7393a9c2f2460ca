"""Free axes: which a graph is asked to keep, and what they are called.

Batch is the first axis of every input, sequence the second one of ids and masks. A tracer takes an axis of one for
fixed, so it is shown the inputs twice over.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import onnx_ir
import torch

_NAMES = ("batch", "sequence")


def free(tensors: Mapping[str, torch.Tensor]) -> dict[str, dict[int, Any]]:
    """The axes that stay free, as torch.export wants them: it decides itself which of them can."""
    auto = torch.export.Dim.AUTO
    return {name: dict.fromkeys(range(_count(tensor)), auto) for name, tensor in tensors.items()}


def _count(tensor: torch.Tensor) -> int:
    return min(tensor.dim(), 1 if tensor.is_floating_point() else 2)


def doubled(tensors: Mapping[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """The inputs with every row twice; as they are where they do not have the same number of rows, since then the first
    axis is not a batch."""
    rows = {tensor.shape[0] if tensor.dim() else 0 for tensor in tensors.values()}
    if len(rows) != 1 or 0 in rows:
        return dict(tensors)
    return {name: torch.cat([tensor, tensor]) for name, tensor in tensors.items()}


def fixed(tensors: Mapping[str, torch.Tensor], inputs: Sequence[Mapping[str, Any]]) -> list[str]:
    """Which of the axes that were to stay free have one size in a written graph, whose free axes are strings."""
    return [
        f"{_NAMES[axis]} of {row['name']}"
        for row in inputs
        for axis, size in enumerate((row["shape"] or ())[: _count(tensors[row["name"]])])
        if isinstance(size, int)
    ]


def named(model: onnx_ir.Model) -> None:
    """Calls the free axes of inputs by what they are, everywhere in the graph. The tracer counts them (s0, s1 …)."""
    names: dict[str, str] = {}
    for value in model.graph.inputs:
        for name, size in zip(_NAMES, value.shape or (), strict=False):
            if isinstance(size, onnx_ir.SymbolicDim) and size.value:
                names.setdefault(size.value, name)
    values = [*model.graph.inputs, *(value for node in model.graph.all_nodes() for value in node.outputs)]
    for value in values if names else ():
        for axis, size in enumerate(value.shape or ()):
            if isinstance(size, onnx_ir.SymbolicDim) and size.value in names:
                value.shape[axis] = onnx_ir.SymbolicDim(names[size.value])

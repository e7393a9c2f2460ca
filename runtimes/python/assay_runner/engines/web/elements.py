"""Gathering single elements without the operator for it, of which WebNN takes few forms of indices: what is gathered
is looked up in the flat tensor, by places computed of the indices."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np
import onnx_ir

from assay_runner.exporting.steps import editing, gathers
from assay_runner.exporting.steps.scatters import counted_from_the_start


def gather(model: onnx_ir.Model) -> int:
    """GatherElements becomes a Gather of the flat tensor."""
    done = 0
    for node in editing.nodes(model, "GatherElements"):
        data, index = node.inputs
        sizes, wanted = editing.shape(data), editing.shape(index)
        if sizes is None or wanted is None:
            continue
        axis = node.attributes.get_int("axis", 0) % len(sizes)
        places = _places(node, index, axis, sizes, wanted)
        editing.replace(node, "Gather", [gathers.table(node, len(sizes)), places], {"axis": 0})
        done += 1
    return done


def _places(
    node: onnx_ir.Node, index: onnx_ir.Value, axis: int, sizes: Sequence[int], wanted: Sequence[int]
) -> onnx_ir.Value:
    """Where each wanted element stands in the flat tensor."""
    kind, like = index.dtype, node.outputs[0]
    dtype = kind.numpy()
    strides = [prod(sizes[i + 1 :]) for i in range(len(sizes))]
    index = counted_from_the_start(node, index, sizes[axis], wanted)
    along = editing.known(node.graph, np.asarray(strides[axis], dtype), like)
    far = editing.before(node, "Mul", [index, along], shape=wanted, dtype=kind)
    grid = np.indices(wanted, dtype=np.int64)
    others = sum(grid[i] * strides[i] for i in range(len(sizes)) if i != axis) + np.zeros(wanted, np.int64)
    rest = editing.known(node.graph, others.astype(dtype), like)
    return editing.before(node, "Add", [far, rest], shape=wanted, dtype=kind)

"""Indices in 32 bits: accelerators have no others."""

from __future__ import annotations

import numpy as np
import onnx_ir

from assay_runner.exporting.steps import editing

# Operators that take indices of either width, with the place of the indices. GatherND and ScatterND take only 64 bits.
_INDEXED = {"Gather": 1, "GatherElements": 1, "ScatterElements": 1}
_LIMITS = np.iinfo(np.int32)


def narrow(model: onnx_ir.Model) -> int:
    """Narrows constant indices, and those whose last step is a cast to 64 bits from a type that 32 bits hold."""
    done = 0
    for node in editing.nodes(model, *_INDEXED):
        place = _INDEXED[node.op_type]
        index = node.inputs[place]
        if index is None or index.dtype != onnx_ir.DataType.INT64:
            continue
        narrowed = _constant(node, index) or _uncast(index)
        if narrowed is not None:
            node.replace_input_with(place, narrowed)
            done += 1
    return done


def _constant(node: onnx_ir.Node, index: onnx_ir.Value) -> onnx_ir.Value | None:
    array = editing.constant(index)
    if array is None or (array.size and not (_LIMITS.min <= array.min() and array.max() <= _LIMITS.max)):
        return None
    return editing.known(node.graph, array.astype(np.int32), index)


def _uncast(index: onnx_ir.Value) -> onnx_ir.Value | None:
    cast = editing.producer(index, "Cast")
    source = cast.inputs[0] if cast else None
    return source if source is not None and source.dtype == onnx_ir.DataType.INT32 else None

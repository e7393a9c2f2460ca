"""What a graph gives, as an accelerator without 64-bit integers can give it."""

from __future__ import annotations

import onnx_ir

from assay_runner.exporting.steps import editing

_FINE = ("Cast", "ArgMax", "ArgMin", "TopK")  # whose whole numbers come out of the HTP as they should


def through_32_bits(model: onnx_ir.Model) -> int:
    """A 64-bit output is made 32 bits wide and then 64 again, so that the last operator on the device is a Cast."""
    done = 0
    for index, value in enumerate(model.graph.outputs):
        if value.dtype != onnx_ir.DataType.INT64 or value.producer() is None or editing.producer(value, *_FINE):
            continue
        narrow = _cast(model.graph, value, onnx_ir.DataType.INT32)
        wide = _cast(model.graph, narrow, onnx_ir.DataType.INT64)
        name, value.name = value.name, f"{value.name}.before"
        wide.name = name
        model.graph.outputs[index] = wide
        done += 1
    return done


def _cast(graph: onnx_ir.Graph, value: onnx_ir.Value, dtype: onnx_ir.DataType) -> onnx_ir.Value:
    made = onnx_ir.node("Cast", [value], {"to": int(dtype)})
    made.outputs[0].shape, made.outputs[0].dtype = value.shape, dtype
    graph.append(made)
    return made.outputs[0]

"""Sorting by booleans, of which many are the same."""

from __future__ import annotations

import numpy as np
import onnx_ir

from assay_runner.exporting.steps import editing


def to_places(model: onnx_ir.Model) -> int:
    """TopK of booleans as numbers becomes TopK of numbers that also count the places, of which no two are the same.
    Among equal numbers the first place comes first in torch and in ONNX; engines order them as they like."""
    done = 0
    for node in editing.nodes(model, "TopK"):
        source, cast = editing.shape(node.inputs[0]), editing.producer(node.inputs[0], "Cast")
        if source is None or cast is None or cast.inputs[0].dtype != onnx_ir.DataType.BOOL:
            continue
        if node.outputs[0].uses() or node.outputs[0].is_graph_output():
            continue  # the numbers themselves are wanted, not only their places
        node.replace_input_with(0, _distinct(node, cast.inputs[0], source))
        node.outputs[0].dtype = onnx_ir.DataType.INT32
        done += 1
    return done


def _distinct(node: onnx_ir.Node, truth: onnx_ir.Value, source: tuple[int, ...]) -> onnx_ir.Value:
    """Truth times the number of places, and the places, counted so that an earlier one comes first."""
    axis = node.attributes.get_int("axis", -1) % len(source)
    size, like = source[axis], node.inputs[0]
    counted = np.arange(size) if not node.attributes.get_int("largest", 1) else np.arange(size)[::-1]
    places = counted.reshape([size if i == axis else 1 for i in range(len(source))]).astype(np.int32)
    whole, shape = onnx_ir.DataType.INT32, list(source)
    number = editing.before(node, "Cast", [truth], {"to": whole}, shape, whole)
    factor = editing.known(node.graph, np.asarray(size, np.int32), like)
    spread = editing.before(node, "Mul", [number, factor], None, shape, whole)
    return editing.before(node, "Add", [spread, editing.known(node.graph, places, like)], None, shape, whole)

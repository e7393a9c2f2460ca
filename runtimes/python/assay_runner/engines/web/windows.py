"""Pools along one axis as browsers have them: along two."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import onnx_ir

from assay_runner.exporting.steps import editing

_ALONG = ("kernel_shape", "strides", "dilations")


def along_two_axes(model: onnx_ir.Model) -> int:
    """MaxPool and AveragePool of rows become those of images of one line."""
    done = 0
    for node in editing.nodes(model, "MaxPool", "AveragePool"):
        sizes, wanted = editing.shape(node.inputs[0]), editing.shape(node.outputs[0])
        if sizes is None or wanted is None or len(sizes) != 3 or len(node.outputs) > 1:
            continue
        attributes = {name: attribute.value for name, attribute in node.attributes.items()}
        attributes |= {name: [1, *attributes[name]] for name in _ALONG if name in attributes}
        if "pads" in attributes:
            first, last = attributes["pads"]
            attributes["pads"] = [0, first, 0, last]
        line = [*sizes[:2], 1, sizes[2]]
        value = editing.before(node, "Reshape", [node.inputs[0], _numbers(node, line)], shape=line)
        value = editing.before(node, node.op_type, [value], attributes, [*wanted[:2], 1, wanted[2]])
        editing.replace(node, "Reshape", [value, _numbers(node, wanted)])
        done += 1
    return done


def _numbers(node: onnx_ir.Node, numbers: Sequence[int]) -> onnx_ir.Value:
    return editing.known(node.graph, np.asarray(numbers, np.int64), node.outputs[0])

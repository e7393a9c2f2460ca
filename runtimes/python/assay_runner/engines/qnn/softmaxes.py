"""Softmax of numbers whose largest is zero."""

from __future__ import annotations

import numpy as np
import onnx_ir

from assay_runner.exporting.steps import editing


def less_largest(model: onnx_ir.Model) -> int:
    """Softmax(x) becomes Softmax(x - max(x)), which is the same."""
    done = 0
    for node in editing.nodes(model, "Softmax"):
        source = node.inputs[0]
        shape = editing.shape(source)
        if shape is None:
            continue
        axis = node.attributes.get_int("axis", -1) % len(shape)
        axes = editing.known(node.graph, np.asarray([axis], np.int64), source)
        narrow = [1 if i == axis else n for i, n in enumerate(shape)]
        largest = editing.before(node, "ReduceMax", [source, axes], {"keepdims": 1}, shape=narrow)
        node.replace_input_with(0, editing.before(node, "Sub", [source, largest]))
        done += 1
    return done

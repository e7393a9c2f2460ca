"""Fourier transforms along the axis that every engine transforms."""

from __future__ import annotations

import numpy as np
import onnx_ir

from assay_runner.exporting.steps import editing

_FIRST = 1  # the axis of a DFT that names none, up to opset 19
_AXIS = np.asarray(_FIRST, np.int64)


def along_the_first(model: onnx_ir.Model) -> int:
    """Lets every DFT work along axis 1, what it is given and gives being transposed where it is along another one.
    OpenVINO's reader knows the axis as the attribute that it was up to opset 19, does not see the input that it is
    since, and transforms along axis 1 whatever that says."""
    done = 0
    for node in editing.nodes(model, "DFT"):
        source, result = editing.shape(node.inputs[0]), editing.shape(node.outputs[0])
        axis = editing.scalar(node.inputs[2]) if len(node.inputs) > 2 else None
        if source is None or result is None or axis is None or int(axis) % len(source) == _FIRST:
            continue
        _turn(node, source, result, int(axis) % len(source))
        done += 1
    return done


def _turn(node: onnx_ir.Node, source: tuple[int, ...], result: tuple[int, ...], axis: int) -> None:
    order = list(range(len(source)))
    order[axis], order[_FIRST] = _FIRST, axis
    first = editing.known(node.graph, _AXIS, node.inputs[2])
    turned = editing.before(node, "Transpose", [node.inputs[0]], {"perm": order}, shape=[source[i] for i in order])
    inputs, shape = [turned, node.inputs[1], first], [result[i] for i in order]
    value = editing.before(node, "DFT", inputs, node.attributes, shape=shape)
    editing.replace(node, "Transpose", [value], {"perm": order})

"""Convolutions over channels that come in threes, which ONNX Runtime Web reads wrongly: zeros make them fours."""

from __future__ import annotations

from math import prod

import numpy as np
import onnx_ir

from assay_runner.exporting.steps import editing

_READ, _WRITTEN = 4, 4  # channels at once


def fill(model: onnx_ir.Model) -> int:
    """Adds channels of zeros to what is convolved, and to the weights, until four divide their number."""
    done = 0
    for node in editing.nodes(model, "Conv"):
        sizes, weights = node.inputs[0].shape, editing.constant(node.inputs[1])
        if sizes is None or weights is None or node.attributes.get_int("group", 1) != 1 or not _wrong(weights.shape):
            continue
        more = -weights.shape[1] % _READ
        beyond = np.zeros(2 * weights.ndim, np.int64)
        beyond[weights.ndim + 1] = more
        wider = [sizes[0], weights.shape[1] + more, *sizes[2:]]
        pads = editing.known(node.graph, beyond, node.outputs[0])
        source = editing.before(node, "Pad", [node.inputs[0], pads], None, wider, node.inputs[0].dtype)
        filled = np.pad(weights, [(0, 0), (0, more), *[(0, 0)] * (weights.ndim - 2)])
        node.replace_input_with(0, source)
        node.replace_input_with(1, editing.known(node.graph, filled, node.outputs[0]))
        done += 1
    return done


def _wrong(shape: tuple[int, ...]) -> bool:
    written, read, *window = shape
    return read > 3 and read % 3 == 0 and read % _READ != 0 and written % _WRITTEN == 0 and prod(window) > 1

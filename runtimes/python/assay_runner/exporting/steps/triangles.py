"""Triangles of matrices without the operator for it."""

from __future__ import annotations

import numpy as np
import onnx_ir

from assay_runner.exporting.steps import editing


def by_choosing(model: onnx_ir.Model) -> int:
    """Trilu becomes a choice between the numbers and zero, by a constant."""
    done = 0
    for node in editing.nodes(model, "Trilu"):
        sizes = editing.shape(node.inputs[0])
        above = editing.scalar(node.inputs[1]) if len(node.inputs) > 1 and node.inputs[1] is not None else 0
        if sizes is None or above is None or node.inputs[0].dtype == onnx_ir.DataType.BOOL:
            continue
        every, diagonal = np.ones(sizes[-2:], bool), int(above)
        here = np.triu(every, diagonal) if node.attributes.get_int("upper", 1) else np.tril(every, diagonal)
        like = node.outputs[0]
        nothing = editing.known(node.graph, np.zeros((), node.inputs[0].dtype.numpy()), like)
        editing.replace(node, "Where", [editing.known(node.graph, here, like), node.inputs[0], nothing])
        done += 1
    return done

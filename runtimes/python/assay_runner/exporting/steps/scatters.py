"""Elements that are put to known places."""

from __future__ import annotations

import numpy as np
import onnx_ir

from assay_runner.exporting.steps import editing


def rows_to_choices(model: onnx_ir.Model) -> int:
    """ScatterElements of one whole row along an axis, whose place is known, becomes a choice between the row and what
    was there."""
    done = 0
    for node in editing.nodes(model, "ScatterElements"):
        data, index, row = node.inputs
        sizes, given, places = editing.shape(data), editing.shape(index), editing.constant(index)
        if (
            sizes is None
            or given is None
            or places is None
            or node.attributes.get_string("reduction", "none") != "none"
        ):
            continue
        axis = node.attributes.get_int("axis", 0) % len(sizes)
        if list(given) != [1 if i == axis else size for i, size in enumerate(sizes)] or places.min() != places.max():
            continue
        chosen = np.arange(sizes[axis]) == places.flat[0] % sizes[axis]
        mask = chosen.reshape([-1 if i == axis else 1 for i in range(len(sizes))])
        editing.replace(node, "Where", [editing.known(node.graph, mask, node.outputs[0]), row, data])
        done += 1
    return done

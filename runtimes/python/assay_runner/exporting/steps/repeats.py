"""Repeats of what has one element along an axis."""

from __future__ import annotations

import numpy as np
import onnx_ir

from assay_runner.exporting.steps import editing


def to_expands(model: onnx_ir.Model) -> int:
    """Tile becomes Expand where it repeats axes of one element only: how a mask is laid over features. Expand copies
    nothing where an engine can do without, and engines have it for truth values."""
    done = 0
    for node in editing.nodes(model, "Tile"):
        counts, source = editing.constant(node.inputs[1]), editing.shape(node.inputs[0])
        if counts is None or source is None:
            continue
        if any(count != 1 and size != 1 for count, size in zip(counts.tolist(), source, strict=True)):
            continue
        target = np.asarray(source, np.int64) * counts.astype(np.int64)
        editing.replace(node, "Expand", [node.inputs[0], editing.known(node.graph, target, node.outputs[0])])
        done += 1
    return done

"""What nothing uses."""

from __future__ import annotations

import onnx_ir
from onnx_ir.passes import common


def remove(model: onnx_ir.Model) -> int:
    """Removes nodes and constants that no output needs, and functions that no node calls."""
    before = model.graph.num_nodes()
    common.RemoveUnusedNodesPass()(model)
    common.RemoveUnusedFunctionsPass()(model)
    return before - model.graph.num_nodes()

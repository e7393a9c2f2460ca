"""The inputs that a graph holds: it was made for one value of each, and does not take another.

What runs an artefact elsewhere reads them in its manifest. An input that is neither in the graph nor here is one that
the model does not use: it may have any value.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

from assay_runner.exporting.graph import Graph

LARGEST = 4096  # numbers: a manifest is read whole, and a larger input is in the artefact's inputs.npz too


def values(graph: Graph, tensors: Mapping[str, torch.Tensor]) -> dict[str, Any]:
    """Those inputs, each with its value as nested lists; None where it is too large for a manifest."""
    taken = {spec["name"] for spec in graph.inputs}
    used = {name for step in graph.steps for name in (*step.get("inputs", ()), *step.get("by", ()))}
    return {name: _listed(t) for name, t in tensors.items() if name in used - taken}


def _listed(tensor: torch.Tensor) -> Any:
    """JSON has no word for what is not finite."""
    return tensor.tolist() if tensor.numel() <= LARGEST and bool(torch.isfinite(tensor).all()) else None

"""Runs a graph as it is written, operator by operator, by ONNX Runtime on the CPU: what a quantised graph means.

Without optimisation a quantised operation is what the standard says: its inputs are widened, it computes in float32,
and its result is rounded. No kernel for integers takes part.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np
import torch

BY = "ONNX Runtime without optimisation"

Arrays = Mapping[str, np.ndarray]


def of_graph(graph: Path, names: Sequence[str]) -> Callable[[Arrays], dict[str, np.ndarray]]:
    """What gives the outputs of a graph, by these names, in order. Inputs are taken as the graph has them: one may have
    been rewritten for whole numbers of 32 bits."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = torch.get_num_threads()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(graph, options, providers=["CPUExecutionProvider"])
    types = {given.name: _TYPES.get(given.type) for given in session.get_inputs()}

    def run(feeds: Arrays) -> dict[str, np.ndarray]:
        fitted = {name: feeds[name].astype(kind, copy=False) if kind else feeds[name] for name, kind in types.items()}
        return dict(zip(names, session.run(None, fitted), strict=True))

    return run


_TYPES: Mapping[str, type] = {
    "tensor(float)": np.float32,
    "tensor(float16)": np.float16,
    "tensor(double)": np.float64,
    "tensor(int32)": np.int32,
    "tensor(int64)": np.int64,
    "tensor(bool)": np.bool_,
    "tensor(uint8)": np.uint8,
}

"""GELU by its approximation, written out.

0.5 (1 + tanh u) is the logistic function of 2u, which keeps its digits where the sum loses them.
"""

from __future__ import annotations

import math

import numpy as np
import onnx_ir

from assay_runner.exporting.steps import editing

_LINEAR = 2 * math.sqrt(2 / math.pi)
_CUBIC = _LINEAR * 0.044715


def written_out(model: onnx_ir.Model) -> int:
    """Gelu that asks for the approximation by tanh becomes products, a sum and a Sigmoid."""
    done = 0
    for node in editing.nodes(model, "Gelu"):
        source = node.inputs[0]
        if node.attributes.get_string("approximate", "none") != "tanh" or source.dtype is None:
            continue
        kind = source.dtype.numpy()

        def number(value: float, node: onnx_ir.Node = node, kind: np.dtype = kind) -> onnx_ir.Value:
            return editing.known(node.graph, np.asarray(value, kind), node.outputs[0])

        square = editing.before(node, "Mul", [source, source])
        cubic = editing.before(node, "Mul", [square, number(_CUBIC)])
        slope = editing.before(node, "Add", [cubic, number(_LINEAR)])
        gate = editing.before(node, "Sigmoid", [editing.before(node, "Mul", [source, slope])])
        editing.replace(node, "Mul", [source, gate])
        done += 1
    return done

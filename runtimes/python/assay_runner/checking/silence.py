"""Trained models that have nothing to say about the inputs that a rule draws.

A detector gives probabilities, and for noise they may all be close to zero. Engines compute a sigmoid to within one
unit in the last place of one, not of the result: beside a probability of a millionth that is a large error, and says
nothing of the model. Such an output is not compared, and the result says why.
"""

from __future__ import annotations

import onnx_ir

from assay_runner.subjects.outputs import Tensors

LEAST = 1e-2  # of a probability: below it half precision has no two digits left beside one
PROBABILITY = "Sigmoid"  # a softmax cannot be silent: its outputs make up one


def heard(model: onnx_ir.Model, expected: Tensors) -> str:
    """Why outputs cannot be compared; "" where they can."""
    for output, value in zip(model.graph.outputs, expected.values(), strict=True):
        node = output.producer()
        if node is not None and node.op_type == PROBABILITY and value.numel() and float(value.max()) < LEAST:
            return (
                f"the probabilities of {output.name} are all below {LEAST:g} for inputs drawn by rule: "
                "rounding is large in comparison. Describe inputs that the model is made for in a file NAME.inputs.json"
            )
    return ""

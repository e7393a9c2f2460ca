"""Turns a graph into one with quantised operations, as the HTP takes them, calibrated with inputs made by rule.

What fixed-point arithmetic cannot hold stays in floating point and runs in fp16 on the same device: the operators of a
table, and all that a mask reaches. A mask adds the most negative number there is, and a scale that reaches it rounds
every score to zero.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import onnx
from onnxruntime.quantization import CalibrationDataReader, QuantType, quantize
from onnxruntime.quantization.execution_providers.qnn import get_qnn_qdq_config, qnn_preprocess_model

from assay_runner.engines.contract import Arrays
from assay_runner.exporting.quieting import quiet

FILE = "model_qdq.onnx"

SAMPLES = 32
"""Sets of inputs to calibrate with: with eight, outputs of the checked inputs were seen to be cut off."""

ACTIVATIONS = {"int8": QuantType.QUInt8, "a16w8": QuantType.QUInt16}
"""The dtype → what activations are; weights are unsigned bytes in both."""

FLOATING = {
    "Sqrt": "small numbers, such as variances, round to zero",
    "Reciprocal": "it turns a small number's rounding into a large one's",
    "Add": "a residual stream has outliers, and eight bits that reach them leave few for the rest",
    "LayerNormalization": "it reads the residual stream",
    "Softmax": "most of its outputs are less than one step of eight bits",
}
"""Operators that stay in floating point, and why. Products of matrices, convolutions and activations do not."""

BOUNDED = frozenset({"Softmax", "LogSoftmax", "Sigmoid", "Tanh", "IsNaN", "IsInf", "Equal", "Greater", "Less", "Not"})
"""Operators whose outputs are moderate whatever goes in."""

LARGEST = float(np.finfo(np.float16).max)


class Samples(CalibrationDataReader):
    """Inputs one after the other, as the quantiser wants them."""

    def __init__(self, samples: Sequence[Arrays]) -> None:
        self._left = iter(samples)

    def get_next(self) -> dict[str, np.ndarray] | None:
        """The next set, None after the last."""
        return next(({**sample} for sample in self._left), None)


def quantised(graph: Path, samples: Sequence[Arrays], dtype: str, folder: Path) -> list[str]:
    """Writes the quantised graph into a folder and gives the names of the nodes that stay in floating point."""
    simple = folder / "simple.onnx"
    with quiet(logging.WARNING):
        beside = graph.with_name(f"{graph.name}.data").exists()
        source = simple if qnn_preprocess_model(graph, simple, save_as_external_data=beside) else graph
        kept = floating(onnx.load(source, load_external_data=False))
        config = get_qnn_qdq_config(
            source,
            Samples(samples),
            activation_type=ACTIVATIONS[dtype],
            weight_type=QuantType.QUInt8,
            nodes_to_exclude=kept,
        )
        quantize(source, folder / FILE, config)
    for leftover in folder.glob("simple.onnx*"):
        leftover.unlink()
    return kept


def floating(model: onnx.ModelProto) -> list[str]:
    """The nodes that are not quantised: by their operator, or since a mask reaches them."""
    masks = {tensor.name for tensor in model.graph.initializer if _mask(tensor)}
    kept = []
    for node in model.graph.node:  # in the order in which they compute
        if node.op_type == "Constant":
            masks.update(node.output if any(_mask(a.t) for a in node.attribute if a.name == "value") else ())
        elif masks.intersection(node.input):
            kept.append(node.name)
            masks.update(node.output if node.op_type not in BOUNDED else ())
        elif node.op_type in FLOATING:
            kept.append(node.name)
    return kept


def _mask(tensor: onnx.TensorProto) -> bool:
    """Whether a constant has a number that fp16 does not."""
    if tensor.data_type not in (onnx.TensorProto.FLOAT, onnx.TensorProto.DOUBLE) or tensor.data_location:
        return False  # what lies in its own file is a weight
    array = onnx.numpy_helper.to_array(tensor)
    return bool(array.size) and float(np.abs(array).max()) > LARGEST

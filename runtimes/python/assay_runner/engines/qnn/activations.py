"""Activations kept apart from the products that they follow, and in parts."""

from __future__ import annotations

import numpy as np
import onnx_ir

from assay_runner.exporting.steps import editing

_ACTIVATIONS = ("Tanh", "Sigmoid", "Gelu")
_PRODUCTS = ("MatMul", "Gemm", "Conv", "ConvTranspose")
_LEAST = np.float32(np.finfo(np.float16).min)


def apart(model: onnx_ir.Model) -> int:
    """Puts Max(x, the least number of fp16), which changes nothing there, between a product, with or without its bias,
    and the activation of it: a compiler then fuses them no more."""
    done = 0
    for node in editing.nodes(model, *_ACTIVATIONS):
        source = node.inputs[0]
        if not _product(source):
            continue
        least = editing.known(node.graph, _LEAST, source)
        between = editing.before(node, "Max", [source, least], shape=editing.shape(source))
        users = [node, *(user for user, _ in node.outputs[0].uses())]  # x · sigmoid(x) takes x a second time
        for user in users:
            for index, value in enumerate(user.inputs):
                if value is source:
                    user.replace_input_with(index, between)
        done += 1
    return done


def hard_swish(model: onnx_ir.Model) -> int:
    """HardSwish(x) becomes x · Clip(x / 6 + 1/2, 0, 1), which is the same. Compilers take x · HardSigmoid(x) for the
    former, but not this."""
    done = 0
    for node in editing.nodes(model, "HardSwish"):
        source = node.inputs[0]
        sixth, half, none, all_ = (editing.known(node.graph, np.float32(n), source) for n in (1 / 6, 1 / 2, 0, 1))
        line = editing.before(node, "Add", [editing.before(node, "Mul", [source, sixth]), half])
        editing.replace(node, "Mul", [source, editing.before(node, "Clip", [line, none, all_])])
        done += 1
    return done


def _product(value: onnx_ir.Value) -> bool:
    """Whether a value is a product of matrices or a convolution, with or without a bias and another shape."""
    for _ in range(3):
        if editing.producer(value, *_PRODUCTS):
            return True
        between = editing.producer(value, "Add", "Reshape", "Transpose", "Squeeze", "Unsqueeze")
        if between is None:
            return False
        value = next((v for v in between.inputs if editing.constant(v) is None), between.inputs[0])
    return False

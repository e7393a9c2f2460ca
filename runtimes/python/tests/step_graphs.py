"""Small graphs written by hand, and what a rewriting step does to them."""

import numpy as np
import onnx
import onnx_ir
import onnxruntime

from assay_runner.exporting import writing

HEAD = '<ir_version: 10, opset_import: ["" : 20]>\n'


def graph(text, **constants):
    """The model of a graph in ONNX's own text; constants are arrays by name."""
    proto = onnx.parser.parse_model(HEAD + text)
    used = {name for node in proto.graph.node for name in node.input}
    proto.graph.initializer.extend(
        onnx.numpy_helper.from_array(np.asarray(array), name) for name, array in constants.items() if name in used
    )
    return onnx_ir.from_proto(onnx.shape_inference.infer_shapes(proto))


def run(model):
    """The model's outputs for fixed inputs drawn by shape and dtype."""
    draw = np.random.default_rng(0)
    session = onnxruntime.InferenceSession(onnx_ir.to_proto(model).SerializeToString())
    kinds = {
        "tensor(float)": lambda shape: draw.normal(size=shape).astype(np.float32),
        "tensor(int64)": lambda shape: draw.integers(0, 3, shape),
        "tensor(int32)": lambda shape: draw.integers(0, 3, shape).astype(np.int32),
        "tensor(bool)": lambda shape: draw.integers(0, 2, shape).astype(bool),
    }
    return session.run(None, {i.name: kinds[i.type](i.shape) for i in session.get_inputs()})


def after(model, step, count):
    """The operators after a step that changes this many nodes and no number."""
    names = [value.name for value in model.graph.outputs]
    before = run(model)
    assert step(model) == count
    assert [value.name for value in model.graph.outputs] == names
    for old, new in zip(before, run(model), strict=True):
        np.testing.assert_allclose(new, old, rtol=1e-6, atol=1e-6)
    return writing.operators(model)

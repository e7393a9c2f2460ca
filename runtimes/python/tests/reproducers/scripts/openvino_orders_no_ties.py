"""Zeros and ones sorted, largest first. Of equal values ONNX puts the one with the lower index first."""

import io

import numpy as np
import onnx
import onnxruntime
import openvino

text = """<ir_version: 10, opset_import: ["" : 20]> g (int32[1, 64] x) => (int64[1, 64] i) <int64[1] k = {64}>
{ v, i = TopK(x, k) }"""
model = onnx.parser.parse_model(text).SerializeToString()
x = np.random.default_rng(0).integers(0, 2, (1, 64)).astype(np.int32)
[expected] = onnxruntime.InferenceSession(model).run(None, {"x": x})
core = openvino.Core()
found = core.compile_model(core.read_model(io.BytesIO(model)), "CPU")([x])[0]
print("ONNX Runtime:", expected[0, :12].tolist())
print("OpenVINO:    ", found[0, :12].tolist())
print("shows" if (found != expected).any() else "gone")

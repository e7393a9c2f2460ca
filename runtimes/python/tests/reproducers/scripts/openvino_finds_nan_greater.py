"""Is 0 / 0 greater than 0.02? No: NaN is greater than nothing."""

import io

import numpy as np
import onnx
import onnxruntime
import openvino

text = """<ir_version: 10, opset_import: ["" : 20]> g (float[16, 4] x) => (bool[16, 4] y) <float c = {0.02}>
{ q = Div(x, x) y = Greater(q, c) }"""
model, x = onnx.parser.parse_model(text).SerializeToString(), np.zeros((16, 4), np.float32)
[expected] = onnxruntime.InferenceSession(model).run(None, {"x": x})
core = openvino.Core()
compiled = core.compile_model(core.read_model(io.BytesIO(model)), "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
found = compiled([x])[0]
print(f"true: ONNX Runtime {expected.sum()} of 64, OpenVINO {found.sum()} of 64")
print("shows" if found.any() else "gone")

"""Pad with values from the other end (mode wrap, since opset 19)."""

import io

import numpy as np
import onnx
import onnxruntime
import openvino

text = """<ir_version: 10, opset_import: ["" : 20]> g (float[1, 4] x) => (float[1, 6] y)
<int64[4] pads = {0, 1, 0, 1}> { y = Pad<mode = "wrap">(x, pads) }"""
model, x = onnx.parser.parse_model(text).SerializeToString(), np.arange(4, dtype=np.float32)[None]
print("ONNX Runtime:", onnxruntime.InferenceSession(model).run(None, {"x": x})[0].ravel().tolist())
core = openvino.Core()
try:
    print("OpenVINO:", core.compile_model(core.read_model(io.BytesIO(model)), "CPU")([x])[0].ravel().tolist())
    print("gone")
except RuntimeError as error:
    print(f"{str(error).strip().splitlines()[-1][:160]}\nshows")

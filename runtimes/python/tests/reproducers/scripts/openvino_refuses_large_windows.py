"""An average over a window that is larger than its image, which ceil_mode allows."""

import io

import numpy as np
import onnx
import onnxruntime
import openvino

text = """<ir_version: 10, opset_import: ["" : 20]> g (float[1, 1, 4, 4] x) => (float[1, 1, 1, 1] y)
{ y = AveragePool<kernel_shape = [8, 8], strides = [8, 8], ceil_mode = 1>(x) }"""
model, x = onnx.parser.parse_model(text).SerializeToString(), np.ones((1, 1, 4, 4), np.float32)
print("ONNX Runtime:", onnxruntime.InferenceSession(model).run(None, {"x": x})[0].ravel().tolist())
core = openvino.Core()
try:
    print("OpenVINO:", core.compile_model(core.read_model(io.BytesIO(model)), "CPU")([x])[0].ravel().tolist())
    print("gone")
except RuntimeError as error:
    print(f"{str(error).strip().splitlines()[-1][:160]}\nshows")

"""A convolution with a window of 19 that keeps the length of 24."""

import numpy as np
import onnx
import onnxruntime as ort
import onnxruntime_qnn as qnn

text = """<ir_version: 10, opset_import: ["" : 20]> g (float[1, 64, 24] x) => (float[1, 64, 24] y)
{ y = Conv<group = 16, pads = [9, 9]>(x, w) }"""
model, draw = onnx.parser.parse_model(text), np.random.default_rng(0)
weights, x = (draw.normal(size=size).astype(np.float32) for size in ((64, 4, 19), (1, 64, 24)))
model.graph.initializer.append(onnx.numpy_helper.from_array(0.1 * weights, "w"))
[expected] = ort.InferenceSession(model.SerializeToString()).run(None, {"x": x})
ort.register_execution_provider_library("QNN", qnn.get_library_path())
options, devices = ort.SessionOptions(), [d for d in ort.get_ep_devices() if d.ep_name == "QNN"]
htp = {"backend_path": qnn.get_qnn_htp_path(), "soc_model": "57", "htp_arch": "75", "enable_htp_fp16_precision": "1"}
options.add_provider_for_devices(devices[:1], htp | {"offload_graph_io_quantization": "0"})
[found] = ort.InferenceSession(model.SerializeToString(), options).run(None, {"x": x})
print(f"off by {np.abs(found - expected).max() / np.abs(expected).max():.2g} of the largest number")
print("shows" if np.abs(found - expected).max() > 0.05 * np.abs(expected).max() else "gone")

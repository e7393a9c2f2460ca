"""Remainders of whole numbers by 16384."""

import numpy as np
import onnx
import onnxruntime as ort
import onnxruntime_qnn as qnn

text = """<ir_version: 10, opset_import: ["" : 20]> g (int32[1, 4] x) => (int32[1, 4] y) <int32 d = {16384}>
{ y = Mod(x, d) }"""
model, x = onnx.parser.parse_model(text).SerializeToString(), np.int32([[5001, 16385, 21001, 100003]])
[expected] = ort.InferenceSession(model).run(None, {"x": x})
ort.register_execution_provider_library("QNN", qnn.get_library_path())
options, devices = ort.SessionOptions(), [d for d in ort.get_ep_devices() if d.ep_name == "QNN"]
htp = {"backend_path": qnn.get_qnn_htp_path(), "soc_model": "57", "htp_arch": "75", "enable_htp_fp16_precision": "1"}
options.add_provider_for_devices(devices[:1], htp | {"offload_graph_io_quantization": "0"})
[found] = ort.InferenceSession(model, options).run(None, {"x": x})
print(f"CPU {expected.ravel().tolist()}, HTP {found.ravel().tolist()}")
print("shows" if (found != expected).any() else "gone")

"""Numbers gathered backwards along two axes, of which the second has one element."""

import numpy as np
import onnx
import onnxruntime as ort
import onnxruntime_qnn as qnn

text = """<ir_version: 10, opset_import: ["" : 20]> g (float[4, 1, 1] x) => (float[4, 1] y)
<int64[4, 2] at = {3, 0, 2, 0, 1, 0, 0, 0}> { y = GatherND(x, at) }"""
model, x = onnx.parser.parse_model(text).SerializeToString(), np.arange(1, 5, dtype=np.float32).reshape(4, 1, 1)
[expected] = ort.InferenceSession(model).run(None, {"x": x})
ort.register_execution_provider_library("QNN", qnn.get_library_path())
options, devices = ort.SessionOptions(), [d for d in ort.get_ep_devices() if d.ep_name == "QNN"]
htp = {"backend_path": qnn.get_qnn_htp_path(), "soc_model": "57", "htp_arch": "75", "enable_htp_fp16_precision": "1"}
options.add_provider_for_devices(devices[:1], htp | {"offload_graph_io_quantization": "0"})
[found] = ort.InferenceSession(model, options).run(None, {"x": x})
print(f"CPU {expected.ravel().tolist()}, HTP {found.ravel().tolist()}")
print("shows" if np.abs(found - expected).max() > 0.1 else "gone")

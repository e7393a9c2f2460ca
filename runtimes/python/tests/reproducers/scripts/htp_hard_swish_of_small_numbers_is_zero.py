"""HardSwish of numbers near zero, which is half of them."""

import numpy as np
import onnx
import onnxruntime as ort
import onnxruntime_qnn as qnn

text = '<ir_version: 10, opset_import: ["" : 20]> g (float[1, 4] x) => (float[1, 4] y) { y = HardSwish(x) }'
model, x = onnx.parser.parse_model(text).SerializeToString(), np.float32([[1e-5, 5e-5, 1e-4, 1e-3]])
[expected] = ort.InferenceSession(model).run(None, {"x": x})
ort.register_execution_provider_library("QNN", qnn.get_library_path())
options, devices = ort.SessionOptions(), [d for d in ort.get_ep_devices() if d.ep_name == "QNN"]
htp = {"backend_path": qnn.get_qnn_htp_path(), "soc_model": "57", "htp_arch": "75", "enable_htp_fp16_precision": "1"}
options.add_provider_for_devices(devices[:1], htp | {"offload_graph_io_quantization": "0"})
[found] = ort.InferenceSession(model, options).run(None, {"x": x})
print("CPU", [f"{v:.2g}" for v in expected[0]], "HTP", [f"{v:.2g}" for v in found[0]])
print("shows" if found[0, 2] < 0.5 * expected[0, 2] else "gone")

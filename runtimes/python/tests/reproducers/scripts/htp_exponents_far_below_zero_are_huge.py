"""exp of numbers far below zero, which is zero."""

import numpy as np
import onnx
import onnxruntime as ort
import onnxruntime_qnn as qnn

text = '<ir_version: 10, opset_import: ["" : 20]> g (float[1, 64] x) => (float[1, 64] y) { y = Exp(x) }'
model, x = onnx.parser.parse_model(text).SerializeToString(), np.linspace(-700, -70, 64, dtype=np.float32)[None]
[expected] = ort.InferenceSession(model).run(None, {"x": x})
ort.register_execution_provider_library("QNN", qnn.get_library_path())
options, devices = ort.SessionOptions(), [d for d in ort.get_ep_devices() if d.ep_name == "QNN"]
htp = {"backend_path": qnn.get_qnn_htp_path(), "soc_model": "57", "htp_arch": "75", "enable_htp_fp16_precision": "1"}
options.add_provider_for_devices(devices[:1], htp | {"offload_graph_io_quantization": "0"})
[found] = ort.InferenceSession(model, options).run(None, {"x": x})
print(f"largest: CPU {expected.max():.2g}, HTP {found.max():.6g}, HTP's smallest {found.min():.6g}")
print("wrong for", x[np.abs(found) > 1e-3].astype(int).tolist())
print("shows" if np.abs(found).max() > 1 else "gone")

"""A batch of two plus a constant that both share, then a norm."""

import numpy as np
import onnx
import onnxruntime as ort
import onnxruntime_qnn as qnn

text = """<ir_version: 10, opset_import: ["" : 20]> g (float[2, 16, 64] x) => (float[2, 16, 64] y)
{ s = Add(x, c) y = LayerNormalization<axis = -1>(s, w, b) }"""
model, draw = onnx.parser.parse_model(text), np.random.default_rng(0)
constants = {"c": draw.normal(size=(1, 16, 64)), "w": np.ones(64), "b": np.zeros(64)}
model.graph.initializer.extend(onnx.numpy_helper.from_array(v.astype("f"), k) for k, v in constants.items())
graph, given = model.SerializeToString(), {"x": draw.normal(size=(2, 16, 64)).astype("f")}
ort.register_execution_provider_library("QNN", qnn.get_library_path())
options, devices = ort.SessionOptions(), [d for d in ort.get_ep_devices() if d.ep_name == "QNN"]
htp = {"backend_path": qnn.get_qnn_htp_path(), "soc_model": "57", "htp_arch": "75", "enable_htp_fp16_precision": "1"}
options.add_provider_for_devices(devices[:1], htp | {"offload_graph_io_quantization": "0"})
off = np.abs(ort.InferenceSession(graph, options).run(None, given)[0] - ort.InferenceSession(graph).run(None, given)[0])
print(f"first of the batch off by {off[0].max():.2g}, second by {off[1].max():.2g}")
print("shows" if off.max() > 0.1 else "gone")

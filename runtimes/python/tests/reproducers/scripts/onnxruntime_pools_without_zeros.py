"""A plane of -1 with a border of zeros, then the largest of each window: windows that touch the border give zero."""

import numpy as np
import onnx
import onnxruntime as ort

text = """<ir_version: 10, opset_import: ["" : 20]> g (float[1, 1, 4, 4] x) => (float[1, 1, 2, 2] z)
<int64[8] pads = {0, 0, 1, 1, 0, 0, 1, 1}>
{ y = Pad(x, pads) z = MaxPool<kernel_shape = [3, 3], strides = [2, 2]>(y) }"""
model, found = onnx.parser.parse_model(text).SerializeToString(), {}
for level in (ort.GraphOptimizationLevel.ORT_DISABLE_ALL, ort.GraphOptimizationLevel.ORT_ENABLE_ALL):
    options = ort.SessionOptions()
    options.graph_optimization_level = level
    [z] = ort.InferenceSession(model, options).run(None, {"x": -np.ones((1, 1, 4, 4), np.float32)})
    found[level] = z.ravel().tolist()
    print(f"{level.name}: {found[level]}")
print("shows" if found[ort.GraphOptimizationLevel.ORT_ENABLE_ALL] != [0.0, 0.0, 0.0, -1.0] else "gone")

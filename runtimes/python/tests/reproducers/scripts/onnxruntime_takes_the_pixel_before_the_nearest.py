"""56 pixels resized to four: with asymmetric coordinates and floor these are numbers 0, 14, 28 and 42."""

import numpy as np
import onnx
import onnxruntime
from onnx.reference import ReferenceEvaluator

text = """<ir_version: 10, opset_import: ["" : 20]> g (float[1, 1, 1, 56] x) => (float[1, 1, 1, 4] y)
<int64[4] sizes = {1, 1, 1, 4}>
{ y = Resize<mode = "nearest", nearest_mode = "floor", coordinate_transformation_mode = "asymmetric">(x, , , sizes) }"""
model = onnx.parser.parse_model(text)
x = np.arange(56, dtype=np.float32).reshape(1, 1, 1, 56)
[found] = onnxruntime.InferenceSession(model.SerializeToString()).run(None, {"x": x})
[expected] = ReferenceEvaluator(model).run(None, {"x": x})
print("onnx's reference:", expected.ravel().tolist())
print("ONNX Runtime:    ", found.ravel().tolist())
print("shows" if found.ravel().tolist() != [0, 14, 28, 42] else "gone")

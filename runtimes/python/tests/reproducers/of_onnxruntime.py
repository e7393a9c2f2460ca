"""Faults of ONNX Runtime on the CPU."""

import numpy as np
import onnx
import onnxruntime

_RESIZE = """<ir_version: 10, opset_import: ["" : 20]> g (float[1, 1, 1, 56] x) => (float[1, 1, 1, 4] y)
<int64[4] sizes = {1, 1, 1, 4}>
{ y = Resize <mode = "nearest", nearest_mode = "floor", coordinate_transformation_mode = "asymmetric">
      (x, , , sizes) }"""


def onnxruntime_takes_the_pixel_before_the_nearest():
    model = onnx.parser.parse_model(_RESIZE).SerializeToString()
    session = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
    [found] = session.run(None, {"x": np.arange(56, dtype=np.float32).reshape(1, 1, 1, 56)})
    return found.reshape(-1).tolist() != [0, 14, 28, 42]


def onnxruntime_pools_without_zeros():
    text = "y = Pad(x, p) z = MaxPool<kernel_shape = [3, 3], strides = [2, 2]>(y)"
    proto = onnx.parser.parse_model(
        f'<ir_version: 10, opset_import: ["" : 20]> g (float[1, 1, 4, 4] x) => (float[1, 1, 2, 2] z) {{ {text} }}'
    )
    proto.graph.initializer.append(onnx.numpy_helper.from_array(np.int64([0, 0, 1, 1, 0, 0, 1, 1]), "p"))
    [found] = onnxruntime.InferenceSession(proto.SerializeToString()).run(None, {"x": -np.ones((1, 1, 4, 4), "f4")})
    return found.max() < 0

"""Faults of ONNX Runtime on the CPU."""

import numpy as np
import onnx
import onnxruntime


def onnxruntime_pools_without_zeros():
    text = "y = Pad(x, p) z = MaxPool<kernel_shape = [3, 3], strides = [2, 2]>(y)"
    proto = onnx.parser.parse_model(
        f'<ir_version: 10, opset_import: ["" : 20]> g (float[1, 1, 4, 4] x) => (float[1, 1, 2, 2] z) {{ {text} }}'
    )
    proto.graph.initializer.append(onnx.numpy_helper.from_array(np.int64([0, 0, 1, 1, 0, 0, 1, 1]), "p"))
    [found] = onnxruntime.InferenceSession(proto.SerializeToString()).run(None, {"x": -np.ones((1, 1, 4, 4), "f4")})
    return found.max() < 0

"""64 products of one and one in 8 bits, on a processor without VNNI (or one that is kept from it, as here)."""

import os

os.environ["ONEDNN_MAX_CPU_ISA"] = "AVX2"

import numpy as np
import openvino
from openvino import opset13 as ops

x = ops.parameter([1, 64], np.float32, name="x")
zero, one, low = (np.float32(n) for n in (0, 1, -128 / 127))
given = ops.fake_quantize(x, zero, one, zero, one, 256)
weights = ops.fake_quantize(ops.constant(np.ones((64, 64), np.float32)), low, one, low, one, 256)
model = openvino.Model([ops.matmul(given, weights, False, False)], [x])
compiled = openvino.Core().compile_model(model, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
found = compiled([np.ones((1, 64), np.float32)])[0].ravel()[0]
print(f"expected 64, found {found:.1f}")
print("shows" if found < 60 else "gone")

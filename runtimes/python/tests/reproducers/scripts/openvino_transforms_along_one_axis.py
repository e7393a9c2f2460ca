"""A Fourier transform along the axis before the last one of a complex signal."""

import io

import numpy as np
import onnx
import openvino

text = """<ir_version: 10, opset_import: ["" : 20]> g (float[1, 4, 6, 2] x) => (float[1, 4, 6, 2] y)
<int64 axis = {2}> { y = DFT(x, , axis) }"""
model = onnx.parser.parse_model(text).SerializeToString()
x = np.random.default_rng(0).normal(size=(1, 4, 6, 2)).astype(np.float32)
signal, core = x[..., 0] + 1j * x[..., 1], openvino.Core()
found = core.compile_model(core.read_model(io.BytesIO(model)), "CPU")([x])[0]
found = found[..., 0] + 1j * found[..., 1]
for axis in (2, 1):
    print(f"off by {np.abs(found - np.fft.fft(signal, axis=axis)).max():.2g} from numpy's fft along axis {axis}")
print("shows" if np.abs(found - np.fft.fft(signal, axis=2)).max() > 1e-3 else "gone")

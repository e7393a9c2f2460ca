"""Attention whose mask and whose guard share a constant zero, with OpenVINO's snippets and without."""

import io

import onnx
import openvino

text = """<ir_version: 10, opset_import: ["" : 20]> g (bool[1, 1, 32, 1] n, float[1, 4, 16, 32] k,
float[1, 4, 32, 16] q, float[1, 4, 32, 16] v, bool[1, 1, 32, 32] m) => (float[1, 4, 32, 16] y)
<float zero = {0}, float low = {-3.4028234e38}> { b = Where(m, zero, low) s = MatMul(q, k) t = Add(s, b)
p = Softmax<axis = -1>(t) o = MatMul(p, v) y = Where(n, zero, o) }"""
core, graph = openvino.Core(), onnx.parser.parse_model(text).SerializeToString()
core.compile_model(core.read_model(io.BytesIO(graph)), "CPU", {"SNIPPETS_MODE": "DISABLE"})
print("compiled without snippets")
try:
    core.compile_model(core.read_model(io.BytesIO(graph)), "CPU")
    print("compiled with snippets\ngone")
except RuntimeError as error:
    print(str(error).strip().splitlines()[-1].strip()[:160])
    print("shows" if "snippets" in str(error) else "gone")

"""A slice to the end of an axis, compiled, exported and imported without its weights."""

import tempfile

import numpy as np
import openvino
from openvino import opset13 as ops

x = ops.parameter([1, 8], np.float32, name="x")
begin, end, step, axis = (np.array([n], np.int64) for n in (2, 2**63 - 1, 1, 1))
model, settings = openvino.Model([ops.slice(x, begin, end, step, axis)], [x]), {"CACHE_MODE": "OPTIMIZE_SIZE"}
core, given = openvino.Core(), np.arange(8, dtype=np.float32)[None]
with tempfile.TemporaryDirectory() as folder:
    openvino.save_model(model, f"{folder}/model.xml", compress_to_fp16=False)
    compiled = core.compile_model(f"{folder}/model.xml", "CPU", settings)
    blob = compiled.export_model().getvalue()
    restored = core.import_model(blob, "CPU", settings | {"WEIGHTS_PATH": f"{folder}/model.bin"})
expected, found = (m([given])[0].ravel().tolist() for m in (compiled, restored))
print(f"compiled: {expected}\nrestored: {found}")
print("shows" if found != expected else "gone")

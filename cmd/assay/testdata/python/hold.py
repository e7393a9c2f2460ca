"""Makes an input of an exported model a constant of its graph: hold.py FOLDER NAME.

Few models need that, and those are large. `hold.py give FOLDER export … --out DIR` stands for a program that has
exported the folder.
"""

import json
import shutil
import sys
from pathlib import Path

import numpy as np


def in_openvino(file, name, value):
    import openvino

    model = openvino.Core().read_model(file)
    (given,) = (p for p in model.get_parameters() if name in p.output(0).get_names())
    constant = openvino.op.Constant(value)
    for user in given.output(0).get_target_inputs():
        user.replace_source_output(constant.output(0))
    model.remove_parameter(given)
    openvino.save_model(model, file.with_name("held.xml"), compress_to_fp16=False)
    for kind in (".xml", ".bin"):
        file.with_name("held" + kind).replace(file.with_suffix(kind))


def in_onnx(file, name, value):
    import onnx

    model = onnx.load(file)
    (given,) = (i for i in model.graph.input if i.name == name)
    dtype = onnx.helper.tensor_dtype_to_np_dtype(given.type.tensor_type.elem_type)
    model.graph.input.remove(given)
    model.graph.initializer.append(onnx.numpy_helper.from_array(value.astype(dtype), name))
    onnx.save(model, file)


def hold(folder, name):
    value = np.load(folder / "inputs.npz")[name]
    ir = folder / "model.xml"
    if ir.exists():
        in_openvino(ir, name, value)
    else:
        in_onnx(folder / "model.onnx", name, value)
    manifest = json.loads((folder / "manifest.json").read_text())
    graph = manifest["graph"]
    graph["inputs"] = [spec for spec in graph["inputs"] if spec["name"] != name]
    manifest["fixed"] = {name: value.tolist()}
    (folder / "manifest.json").write_text(json.dumps(manifest))


if sys.argv[1] == "give":
    shutil.copytree(sys.argv[2], Path(sys.argv[-1]) / "held")
else:
    hold(Path(sys.argv[1]), sys.argv[2])

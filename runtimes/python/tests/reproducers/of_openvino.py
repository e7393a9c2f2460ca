"""Faults of OpenVINO on its CPU, and of NNCF."""

import io

import numpy as np
import onnx
import openvino as ov
import pytest

from assay_runner.engines.openvino import precision
from assay_runner.exporting.quieting import quiet
from assay_runner.subjects.replacing import replaced

HEAD = '<ir_version: 10, opset_import: ["" : 20]>\n'


def _graph(text, **constants):
    proto = onnx.parser.parse_model(HEAD + text)
    proto.graph.initializer.extend(onnx.numpy_helper.from_array(np.asarray(a), n) for n, a in constants.items())
    return onnx.shape_inference.infer_shapes(proto)


def _compiled(proto, **settings):
    core = ov.Core()
    model = core.read_model(io.BytesIO(proto.SerializeToString()))
    return core.compile_model(model, "CPU", {"INFERENCE_PRECISION_HINT": "f32", **settings})


def _drawn(*shape):
    return np.random.default_rng(0).normal(size=shape).astype(np.float32)


def openvino_takes_other_precisions():
    if "FP16" in ov.Core().get_property("CPU", "OPTIMIZATION_CAPABILITIES"):
        pytest.skip("this processor computes in fp16")
    proto = _graph("g (float[2, 8] x) => (float[2, 8] y) { y = MatMul(x, w) }", w=_drawn(8, 8))
    try:
        compiled = _compiled(proto, INFERENCE_PRECISION_HINT="f16")
    except RuntimeError:
        return False
    return "f16" not in precision.executed(compiled)


def nncf_runs_on_all_cores():
    nncf = pytest.importorskip("nncf")
    seen = []

    def spied(own):
        def compile_model(core, model, device_name=None, config=None, **kwargs):
            seen.append(config or {})
            return own(core, model, device_name, config, **kwargs)

        return compile_model

    proto = _graph("g (float[2, 8] x) => (float[2, 8] y) { y = MatMul(x, w) }", w=_drawn(8, 8))
    model = ov.Core().read_model(io.BytesIO(proto.SerializeToString()))
    with quiet(), replaced(ov.Core, "compile_model", spied):
        nncf.quantize(model, nncf.Dataset([_drawn(2, 8)]), subset_size=1)
    assert seen
    return not any("INFERENCE_NUM_THREADS" in config for config in seen)

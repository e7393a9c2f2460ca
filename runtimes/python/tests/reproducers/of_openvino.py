"""Faults of OpenVINO on its CPU, and of NNCF."""

import io
import platform
import tempfile
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import openvino as ov
import pytest
from openvino import opset13 as ops

from assay_runner.engines.openvino import precision
from assay_runner.exporting.quieting import quiet
from assay_runner.subjects.replacing import replaced
from reproducers._children import printed

HEAD = '<ir_version: 10, opset_import: ["" : 20]>\n'


def _graph(text, **constants):
    proto = onnx.parser.parse_model(HEAD + text)
    proto.graph.initializer.extend(onnx.numpy_helper.from_array(np.asarray(a), n) for n, a in constants.items())
    return onnx.shape_inference.infer_shapes(proto)


def _compiled(proto, **settings):
    core = ov.Core()
    model = core.read_model(io.BytesIO(proto.SerializeToString()))
    return core.compile_model(model, "CPU", {"INFERENCE_PRECISION_HINT": "f32", **settings})


def _wrong(proto, given):
    """Whether OpenVINO refuses a graph or gives other numbers than ONNX Runtime."""
    expected = onnxruntime.InferenceSession(proto.SerializeToString()).run(None, {"x": given})
    try:
        found = list(_compiled(proto)([given]).values())
    except RuntimeError:
        return True
    return not all(np.allclose(a, b, atol=1e-4, equal_nan=True) for a, b in zip(found, expected, strict=True))


def _drawn(*shape):
    return np.random.default_rng(0).normal(size=shape).astype(np.float32)


def openvino_refuses_large_windows():
    pool = "AveragePool<kernel_shape = [8, 8], strides = [8, 8], ceil_mode = 1>"
    return _wrong(_graph(f"g (float[1, 3, 4, 4] x) => (float[1, 3, 1, 1] y) {{ y = {pool}(x) }}"), _drawn(1, 3, 4, 4))


def openvino_has_no_circular_pads():
    proto = _graph('g (float[1, 4] x) => (float[1, 6] y) { y = Pad<mode = "wrap">(x, p) }', p=np.int64([0, 1, 0, 1]))
    return _wrong(proto, _drawn(1, 4))


def openvino_transforms_along_one_axis():
    proto = _graph("g (float[1, 4, 6, 2] x) => (float[1, 4, 6, 2] y) { y = DFT(x, , a) }", a=np.int64(2))
    return _wrong(proto, _drawn(1, 4, 6, 2))


def openvino_orders_no_ties():
    text = "g (bool[4, 64] x) => (int64[4, 64] i) { n = Cast<to = 6>(x) v, i = TopK(n, k) }"
    return _wrong(_graph(text, k=np.int64([64])), np.random.default_rng(0).integers(0, 2, (4, 64)).astype(bool))


def openvino_finds_nan_greater():
    proto = _graph("g (float[16, 4] x) => (bool[16, 4] y) { q = Div(x, x) y = Greater(q, c) }", c=np.float32(0.02))
    return _wrong(proto, np.zeros((16, 4), np.float32))


def openvino_restores_other_models():
    """A slice to the end of an axis, which is one row short once it was restored without its weights."""
    ends = {"b": np.int64([2]), "e": np.int64([2**63 - 1]), "a": np.int64([1])}
    proto = _graph("g (float[1, 8, 4] x) => (float[1, 6, 4] y) { y = Slice(x, b, e, a) }", **ends)
    core, given = ov.Core(), _drawn(1, 8, 4)
    settings = {"INFERENCE_PRECISION_HINT": "f32", "CACHE_MODE": "OPTIMIZE_SIZE"}
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "model.xml"
        ov.save_model(core.read_model(io.BytesIO(proto.SerializeToString())), file, compress_to_fp16=False)
        made = core.compile_model(file, "CPU", settings)
        blob, weights = made.export_model().getvalue(), {"WEIGHTS_PATH": str(file.with_suffix(".bin"))}
        restored = core.import_model(blob, "CPU", settings | weights)
    return not np.array_equal(restored([given])[0], made([given])[0])


def openvino_snippets_are_wrong():
    """Attention whose mask and whose guard share a zero, which is not compiled with snippets and is without."""
    text = """g (
        bool[1, 1, 32, 1] n, float[1, 4, 16, 32] k, float[1, 4, 32, 16] q, float[1, 4, 32, 16] v, bool[1, 1, 32, 32] m
    ) => (float[1, 4, 32, 16] y) {
        b = Where(m, zero, low) s = MatMul(q, k) t = Add(s, b) p = Softmax<axis = -1>(t) o = MatMul(p, v)
        y = Where(n, zero, o)
    }"""
    proto = _graph(text, zero=np.float32(0), low=np.float32(np.finfo(np.float32).min))
    _compiled(proto, SNIPPETS_MODE="DISABLE")
    try:
        _compiled(proto)
    except RuntimeError as error:
        return "snippets" in str(error)
    return False


def openvino_takes_other_precisions():
    if "FP16" in ov.Core().get_property("CPU", "OPTIMIZATION_CAPABILITIES"):
        pytest.skip("this processor computes in fp16")
    proto = _graph("g (float[2, 8] x) => (float[2, 8] y) { y = MatMul(x, w) }", w=_drawn(8, 8))
    try:
        compiled = _compiled(proto, INFERENCE_PRECISION_HINT="f16")
    except RuntimeError:
        return False
    return "f16" not in precision.executed(compiled)


def openvino_sums_of_8_bits_overflow():
    if platform.machine().lower() not in ("x86_64", "amd64"):
        pytest.skip("only x86 has instructions of 8 bits that overflow")
    code = "from reproducers import of_openvino; print(of_openvino._sum_of_ones())"
    return float(printed(code, ONEDNN_MAX_CPU_ISA="AVX2")) < 60


def _sum_of_ones():
    """64 products of one and one, in 8 bits."""
    x = ops.parameter([1, 64], np.float32, name="x")
    given = ops.fake_quantize(x, np.float32(0), np.float32(1), np.float32(0), np.float32(1), 256)
    ends = np.float32(-128 / 127), np.float32(1)
    weights = ops.fake_quantize(ops.constant(np.ones((64, 64), np.float32)), *ends, *ends, 256)
    model = ov.Model([ops.matmul(given, weights, False, False)], [x])
    compiled = ov.Core().compile_model(model, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
    assert "i8" in precision.executed(compiled) or "u8" in precision.executed(compiled), precision.executed(compiled)
    return float(compiled([np.ones((1, 64), np.float32)])[0].ravel()[0])


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

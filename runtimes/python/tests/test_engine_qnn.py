"""Tiny models on Qualcomm's emulator, through the engine, and graphs that it does not take whole."""

import json
import platform
import sys
import types
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
import torch_recipes
from onnx import TensorProto, helper
from torch_emit import Emit, job

from assay_runner.engines.contract import Asked, Exported
from assay_runner.engines.graphs import driver
from assay_runner.engines.qnn import hiding, placing, provider, quantising, socs
from assay_runner.engines.qnn.backend import QNN, fixed
from assay_runner.errors import AbsentDevice, ExportFailed, LibraryAbsent, UnsupportedDType, UnsupportedOperators
from assay_runner.exporting.store import Store

emulator = pytest.mark.skipif(
    (sys.platform, platform.machine()) != ("linux", "x86_64"), reason="Qualcomm's emulator is for Linux on x86-64"
)


def run(exports, recipe, kind="check", **cell):
    emit = Emit()
    asked = job(recipe, kind, **{"platform": "qnn", "engine": "qnn", "dtype": "fp16", **cell})
    driver.run(asked | {"options": {"exports": exports}}, emit)
    return emit.reports[0]


@emulator
@pytest.mark.parametrize(
    "recipe", [torch_recipes.BERT, torch_recipes.VIT, torch_recipes.LLAMA], ids=lambda r: r["type"]
)
def test_a_model_runs_whole(exports, recipe):
    report = run(exports, recipe)
    assert report["evidence"] == "emulated"
    assert report["numerics"]["pass"], report["numerics"]
    assert report["numerics"]["control"]["pass"]
    assert report["numerics"]["control"]["where"] == "engine"
    assert report["placement"]["nodes"]["sm8650"] > 10
    assert report["placement"]["left_over"] == []
    assert report["context"]["engine_settings"] == {"soc": "sm8650", "soc_model": "57", "htp": "75"}


@emulator
@pytest.mark.parametrize(("dtype", "least"), [("int8", 20), ("a16w8", 30)])
def test_quantised(exports, dtype, least):
    report = run(exports, torch_recipes.BERT, dtype=dtype, device="sm8550")
    assert least <= report["numerics"]["snr_db"] < 100, report["numerics"]
    assert report["numerics"]["control"]["pass"]
    assert report["numerics"]["control"]["where"] == "engine"
    assert report["placement"]["left_over"] == []
    assert report["context"]["kept_floating"] > 0


@emulator
def test_a_context_is_found_the_second_time(exports):
    key = run(exports, torch_recipes.BERT, device="sm8750")["export"]["prepared"]
    report = run(exports, torch_recipes.BERT, "time", device="sm8750")
    assert report["context"]["context_found"]
    assert report["export"]["prepared"] == key
    assert len(report["samples_ms"]) >= 5
    assert run(exports, torch_recipes.BERT, device="sm8550")["export"]["prepared"] != key


def exported(folder, nodes, inputs, outputs, constants=()):
    typed = [[helper.make_tensor_value_info(n, TensorProto.FLOAT, s) for n, s in v] for v in (inputs, outputs)]
    model = helper.make_model(
        helper.make_graph(nodes, "g", *typed, list(constants)),
        opset_imports=[helper.make_opsetid("", 18)],
        ir_version=10,
    )
    onnx.save(model, folder / "model.onnx")
    described = [[{"name": n, "shape": s, "dtype": "float32"} for n, s in v] for v in (inputs, outputs)]
    return Exported(f"key-{folder.name}", folder / "model.onnx", *described, lambda n: [])


def compiled(folder, graph, device=""):
    backend = QNN(Asked("qnn", device, "fp16", 1), Store(folder / "store"))
    return backend.compile(backend.prepare(graph))


@emulator
def test_an_operator_that_the_htp_lacks_runs_on_the_host(tmp_path):
    nodes = [
        helper.make_node("Relu", ["x"], ["h"], name="relu"),
        helper.make_node("Det", ["h"], ["d"], name="det"),
        helper.make_node("Neg", ["h"], ["y"], name="neg"),
    ]
    graph = exported(tmp_path, nodes, [("x", [2, 4, 4])], [("y", [2, 4, 4]), ("d", [2])])
    ready = compiled(tmp_path, graph)
    x = np.random.default_rng(0).uniform(-1, 1, (2, 4, 4)).astype(np.float32)
    ready.bind({"x": x})
    ready.run()
    np.testing.assert_allclose(ready.outputs()["d"], np.linalg.det(np.maximum(x, 0)), atol=5e-3)
    np.testing.assert_allclose(ready.outputs()["y"], -np.maximum(x, 0), atol=5e-3)
    placed = ready.placement()
    assert placed.nodes == {"sm8650": 2, "cpu": 1}
    [row] = placed.left_over
    assert (row.operator, row.count, row.where) == ("Det", 1, "cpu")
    assert "Det" in row.why or "support" in row.why


@emulator
def test_a_graph_of_which_nothing_runs_there(tmp_path):
    graph = exported(tmp_path, [helper.make_node("Det", ["x"], ["y"], name="det")], [("x", [2, 4, 4])], [("y", [2])])
    with pytest.raises(UnsupportedOperators, match="Det ×1"):
        compiled(tmp_path, graph)


@emulator
def test_nodes_that_stop_the_compiler_stay_on_the_host(tmp_path):
    """An RMS norm written with Pow is known to stop it."""
    two, axis, eps = (
        onnx.numpy_helper.from_array(np.asarray(v, t), n)
        for n, v, t in (("two", 2, np.float32), ("axis", [-1], np.int64), ("eps", 1e-6, np.float32))
    )
    nodes = [
        helper.make_node(op, i, [o], name=o)
        for op, i, o in (
            ("Pow", ["x", "two"], "square"),
            ("ReduceMean", ["square", "axis"], "mean"),
            ("Add", ["mean", "eps"], "sum"),
            ("Sqrt", ["sum"], "root"),
            ("Reciprocal", ["root"], "scale"),
            ("Mul", ["x", "scale"], "norm"),
            ("Mul", ["weight", "norm"], "y"),
        )
    ]
    weight = onnx.numpy_helper.from_array(np.ones(64, np.float32), "weight")
    graph = exported(tmp_path, nodes, [("x", [1, 16, 64])], [("y", [1, 16, 64])], [two, axis, eps, weight])
    ready = compiled(tmp_path, graph)
    x = np.random.default_rng(0).uniform(-1, 1, (1, 16, 64)).astype(np.float32)
    ready.bind({"x": x})
    ready.run()
    expected = x / np.sqrt(np.square(x).mean(-1, keepdims=True) + 1e-6)
    np.testing.assert_allclose(ready.outputs()["y"], expected, atol=2e-2)
    placed = ready.placement()
    assert sum(placed.nodes.values()) == len(nodes)
    assert placed.left_over
    assert all("cannot finish" in row.why for row in placed.left_over)


@pytest.mark.parametrize(
    ("shape", "says"), [([1, "seq"], "leaves seq free"), (["batch", 8], "leaves batch free"), (None, "rank")]
)
def test_free_dimensions_are_refused(shape, says):
    with pytest.raises(ExportFailed, match=says):
        fixed([{"name": "x", "shape": shape, "dtype": "float32"}])


def test_fixed_shapes_pass():
    fixed([{"name": "x", "shape": [1, 8], "dtype": "float32"}, {"name": "n", "shape": [], "dtype": "int64"}])


def test_a_system_that_does_not_exist():
    with pytest.raises(AbsentDevice, match=r"sm9999.*sm8650"):
        socs.find("sm9999")


def test_systems_by_the_names_they_go_by():
    assert socs.find("SM8650") == socs.default()
    assert socs.find("x1e80100").id == "sc8380xp"
    assert socs.find("sa8255").htp == 73
    rows = json.loads(socs.FILE.read_bytes())["socs"]
    assert list(socs.socs()) == [row["id"] for row in rows]


@pytest.mark.parametrize(
    ("device", "dtype", "says"), [("", "fp32", "fp16, which needs no calibration"), ("sm8350", "fp16", "v68.*int8")]
)
def test_dtypes_that_the_htp_lacks(device, dtype, says):
    with pytest.raises(UnsupportedDType, match=says):
        provider.provider(Asked("qnn", device, dtype, 1))


def test_a_missing_library(monkeypatch, tmp_path):
    package = types.SimpleNamespace(
        get_qnn_htp_path=lambda: str(tmp_path / "libQnnHtp.so"), get_library_path=lambda: str(tmp_path / "provider.so")
    )
    monkeypatch.setitem(sys.modules, "onnxruntime_qnn", package)
    with pytest.raises(LibraryAbsent, match=r"libQnnHtp\.so.*install onnxruntime-qnn"):
        provider.provider(Asked("qnn", "", "fp16", 1))


def test_a_missing_package(monkeypatch):
    monkeypatch.setitem(sys.modules, "onnxruntime_qnn", None)
    monkeypatch.setattr(onnxruntime, "get_available_providers", lambda: ["CPUExecutionProvider"])
    with pytest.raises(LibraryAbsent, match="not installed"):
        provider.provider(Asked("qnn", "", "fp16", 1))


def test_options_of_a_device_and_of_the_emulator():
    soc = socs.find("sm8550")
    here = provider.provider_options(Path("/lib/libQnnHtp.so"), None, emulated=False)
    assert here["htp_performance_mode"] == "burst"
    assert "soc_model" not in here
    there = provider.provider_options(Path("/lib/libQnnHtp.so"), soc, emulated=True)
    assert (there["soc_model"], there["htp_arch"]) == ("43", "73")
    assert "htp_performance_mode" not in there
    assert [provider.library_name(s) for s in ("linux", "win32")] == ["libQnnHtp.so", "QnnHtp.dll"]


LOG = """\
2026 [V:onnxruntime:, qnn_execution_provider.cc:1713] Validation FAILED for 1 nodes in OrtNodeUnit (Einsum) :
\tOperator type: Einsum Node name: node_einsum Node index: 350
\tREASON : Einsum unsupported equation: bd,bkd->bk
2026 [V:onnxruntime:, other.cc:1] something else
\tOperator type: Det Node name: a b Node index: 1
\tREASON : no builder
"""


def test_reasons_are_read_from_the_log():
    assert placing.refused(LOG) == {"node_einsum": "Einsum unsupported equation: bd,bkd->bk", "a b": "no builder"}


def test_what_is_left_over_is_counted_by_reason():
    nodes = [
        types.SimpleNamespace(op_type=op, name=name) for op, name in (("A", "1"), ("B", "2"), ("A", "3"), ("A", "4"))
    ]
    rows = placing.left_over(nodes, {"1": "x", "3": "x", "4": "y"})
    assert [(r["operator"], r["count"], r["why"]) for r in rows] == [("A", 2, "x"), ("B", 1, ""), ("A", 1, "y")]


HEAD = '<ir_version: 10, opset_import: ["" : 20]>\n'


def model(text, **constants):
    proto = onnx.parser.parse_model(HEAD + text)
    proto.graph.initializer.extend(onnx.numpy_helper.from_array(np.asarray(a), n) for n, a in constants.items())
    for i, node in enumerate(proto.graph.node):
        node.name = f"{node.op_type}_{i}"
    return onnx.shape_inference.infer_shapes(proto)


def results(proto):
    draw = np.random.default_rng(0)
    session = onnxruntime.InferenceSession(proto.SerializeToString())
    return session.run(None, {i.name: draw.normal(size=i.shape).astype(np.float32) for i in session.get_inputs()})


CHAIN = "g (float[2, 4] x) => (float[2, 4] y, float[2, 4] z) { a = Relu(x) b = Add(a, w) z = Neg(b) y = Mul(b, a) }"


def test_a_hidden_node_computes_the_same():
    proto = model(CHAIN, w=np.float32([1, 2, 3, 4]))
    hidden = hiding.hidden(proto, ["Add_1", "Neg_2"])
    onnx.checker.check_model(hidden)
    outside = [node.op_type for node in hidden.graph.node]
    assert outside.count("Loop") == 2
    assert "Add" not in outside
    for before, after in zip(results(proto), results(hidden), strict=True):
        np.testing.assert_array_equal(after, before)


@pytest.mark.parametrize("stops", ["Relu_0", "Add_1", "Neg_2", "Mul_3"])
def test_the_culprit_is_found(stops):
    proto = model(CHAIN, w=np.float32([1, 2, 3, 4]))
    tried = []

    def compiles(part):
        onnx.checker.check_model(part)
        tried.append(part)
        return stops not in [node.name for node in part.graph.node]

    assert hiding.culprit(proto, compiles) == stops
    assert len(tried) <= 2


def test_masks_and_small_numbers_are_not_quantised():
    text = (
        "g (float[2, 4] x) => (float[2, 4] y) { a = MatMul(x, w) b = Sub(a, m) c = Softmax(b) d = Sqrt(c) y = Neg(d) }"
    )
    proto = model(text, w=np.eye(4, dtype=np.float32), m=np.float32([0, 0, 3e38, 3e38]))
    assert quantising.floating(proto) == ["Sub_1", "Softmax_2", "Sqrt_3"]

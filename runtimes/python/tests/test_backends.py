"""What every engine of exported graphs must do, whichever it is: a row of BACKENDS is all that a new one adds."""

import gc
from dataclasses import dataclass, field

import numpy as np
import onnx
import pytest
import torch
from onnx import TensorProto, helper

from assay_runner.engines.backends import backend
from assay_runner.engines.contract import Asked, Exported
from assay_runner.errors import AbsentDevice, RefusedGraph, UnsupportedDType
from assay_runner.exporting.store import Store


@dataclass(frozen=True)
class Case:
    """An engine on a device that this machine has, and what it must refuse."""

    engine: str
    platform: str
    device: str
    absent: Asked
    wrong_dtype: str
    tolerance: float = 1e-5
    dtypes: tuple[str, ...] = field(default=("fp32",))


BACKENDS = [
    Case("onnxruntime", "cpu", "", Asked("cuda", "0", "fp32", 1), "int8"),
    Case("openvino", "openvino", "CPU", Asked("openvino", "NPU", "fp32", 1), "a16w8"),
    Case("qnn", "qnn", "sm8650", Asked("qnn", "sm9999", "fp16", 1), "fp32", 5e-3, ("fp16",)),
]


@pytest.fixture(params=BACKENDS, ids=lambda case: case.engine)
def case(request):
    return request.param


def asked(case, **settings):
    return Asked(case.platform, case.device, settings.pop("dtype", case.dtypes[0]), 1, **settings)


def graph(folder, nodes, inputs, outputs, constants=()):
    """A graph in a file as a backend gets it; values are (name, shape)."""
    typed = [
        [helper.make_tensor_value_info(n, TensorProto.FLOAT, s) for n, s in values] for values in (inputs, outputs)
    ]
    made = helper.make_graph(nodes, "g", *typed, list(constants))
    path = folder / "model.onnx"
    onnx.save(helper.make_model(made, opset_imports=[helper.make_opsetid("", 18)], ir_version=10), path)
    described = [[{"name": n, "shape": s, "dtype": "float32"} for n, s in values] for values in (inputs, outputs)]
    return Exported(
        f"key-{folder.name}", path, *described, lambda n: [{name: drawn(s, i) for name, s in inputs} for i in range(n)]
    )


def drawn(shape, seed=0):
    return np.random.default_rng(seed).uniform(-1, 1, shape).astype(np.float32)


def matmul(folder):
    weight = drawn((64, 32), 7)
    exported = graph(
        folder,
        [helper.make_node("MatMul", ["x", "w"], ["h"]), helper.make_node("Relu", ["h"], ["y"])],
        [("x", [2, 64])],
        [("y", [2, 32])],
        [onnx.numpy_helper.from_array(weight, "w")],
    )
    x = drawn((2, 64))
    return exported, {"x": x}, np.maximum(x @ weight, 0)


def compiled(case, exported, store, **settings):
    engine = backend(case.engine)(asked(case, **settings), Store(store))
    return engine.compile(engine.prepare(exported))


@pytest.fixture
def store(tmp_path):
    return tmp_path / "store"


def test_one_node(case, tmp_path, store):
    exported = graph(tmp_path, [helper.make_node("Neg", ["x"], ["y"])], [("x", [1, 4])], [("y", [1, 4])])
    ready = compiled(case, exported, store)
    assert ready.evidence in ("", "emulated", "compiled")
    assert ready.key
    if ready.evidence == "compiled":
        return
    for seed in (0, 1):
        x = drawn((1, 4), seed)
        ready.bind({"x": x})
        ready.run()
        np.testing.assert_allclose(ready.outputs()["y"], -x, atol=case.tolerance)


def test_outputs_have_the_names_that_were_told(case, tmp_path, store):
    nodes = [helper.make_node("Neg", ["x"], ["minus"]), helper.make_node("Add", ["x", "x"], ["twice"])]
    exported = graph(tmp_path, nodes, [("x", [1, 4])], [("twice", [1, 4]), ("minus", [1, 4])])
    ready = compiled(case, exported, store)
    x = drawn((1, 4))
    ready.bind({"x": x})
    ready.run()
    found = ready.outputs()
    assert list(found) == ["twice", "minus"]
    np.testing.assert_allclose(found["twice"], 2 * x, atol=case.tolerance)
    np.testing.assert_allclose(found["minus"], -x, atol=case.tolerance)


def test_outputs_are_the_callers_own(case, tmp_path, store):
    exported, feeds, _ = matmul(tmp_path)
    ready = compiled(case, exported, store)
    ready.bind(feeds)
    ready.run()
    first = ready.outputs()["y"]
    kept = first.copy()
    ready.bind({"x": -feeds["x"]})
    ready.run()
    np.testing.assert_array_equal(first, kept)
    assert np.abs(ready.outputs()["y"] - kept).max() > 0.1


def test_placement_counts_nodes(case, tmp_path, store):
    exported, feeds, expected = matmul(tmp_path)
    ready = compiled(case, exported, store, profile=True)
    ready.bind(feeds)
    ready.run()
    placed = ready.placement().report()
    assert placed["device"]
    assert sum(placed["nodes"].values()) >= 1
    assert not placed["left_over"]
    np.testing.assert_allclose(ready.outputs()["y"], expected, atol=case.tolerance)


def test_facts_tell_the_engines_version(case, tmp_path, store):
    exported, _, _ = matmul(tmp_path)
    assert compiled(case, exported, store).facts()["versions"][case.engine][0].isdigit()


def test_a_dtype_that_it_lacks(case, store):
    with pytest.raises(UnsupportedDType, match=case.wrong_dtype):
        backend(case.engine)(asked(case, dtype=case.wrong_dtype), Store(store))


def test_a_device_that_is_not_there(case, store):
    with pytest.raises(AbsentDevice):
        backend(case.engine)(case.absent, Store(store))


def test_what_is_kept_serves_the_next_process(case, tmp_path, store):
    exported, feeds, expected = matmul(tmp_path)
    keys = set()
    for _ in range(2):
        ready = compiled(case, exported, store)
        ready.bind(feeds)
        ready.run()
        np.testing.assert_allclose(ready.outputs()["y"], expected, atol=case.tolerance)
        keys.add(ready.key)
    assert len(keys) == 1


def test_a_truncated_entry_is_made_again(case, tmp_path, store):
    exported, feeds, expected = matmul(tmp_path)
    compiled(case, exported, store)
    gc.collect()  # a process that used it holds its entry until it ends
    kept = [p for p in store.rglob("*") if p.is_file() and p.name != "manifest.json" and "locks" not in p.parts]
    for path in kept:
        path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    ready = compiled(case, exported, store)
    ready.bind(feeds)
    ready.run()
    np.testing.assert_allclose(ready.outputs()["y"], expected, atol=case.tolerance)


@pytest.mark.parametrize("dtype", ["int8", "w8", "w4"])
def test_openvino_quantises(tmp_path, store, dtype):
    exported, feeds, expected = matmul(tmp_path)
    ready = compiled(BACKENDS[1], exported, store, dtype=dtype)
    ready.bind(feeds)
    ready.run()
    noise = ready.outputs()["y"] - expected
    snr = 10 * np.log10(np.square(expected).sum() / np.square(noise).sum())
    assert 15 < snr < 80, f"{snr} dB: quantised weights are neither exact nor lost"


@pytest.mark.parametrize("dtype", ["int8", "w4"])
def test_quantising_holds_to_the_childs_threads(tmp_path, store, dtype, monkeypatch):
    import openvino as ov

    seen, own = [], ov.Core.compile_model

    def spying(core, model, device_name=None, config=None, **kwargs):
        made = own(core, model, device_name, config, **kwargs)
        seen.append(made.get_property("INFERENCE_NUM_THREADS"))
        return made

    monkeypatch.setattr(ov.Core, "compile_model", spying)
    monkeypatch.setattr(torch, "get_num_threads", lambda: 1)
    exported, _, _ = matmul(tmp_path)
    compiled(BACKENDS[1], exported, store, dtype=dtype)
    assert seen and set(seen[:-1]) == {1}  # the last one is the engine's own, with what the cell asks for


@pytest.mark.parametrize("saturate", [False, True])
def test_openvino_quantises_for_the_processor(saturate, monkeypatch):
    from assay_runner.engines.openvino import quantising

    monkeypatch.setattr(quantising.instructions, "sums_saturate", lambda: saturate)
    assert quantising.suited("int8", "CPU") == ("int8 of 7 bits" if saturate else "int8")
    assert [quantising.suited(*row) for row in (("int8", "GPU"), ("w8", "CPU"), ("", "CPU"))] == ["int8", "w8", ""]


def test_openvino_in_flight(tmp_path, store):
    exported, feeds, expected = matmul(tmp_path)
    ready = compiled(BACKENDS[1], exported, store, scenario="throughput")
    assert ready.items > 1
    ready.bind(feeds)
    ready.run()
    np.testing.assert_allclose(ready.outputs()["y"], expected, atol=1e-5)
    assert ready.facts()["engine_settings"]["performance_hint"] == "THROUGHPUT"


def test_openvino_never_computes_in_what_was_not_asked(tmp_path, store):
    exported, _, _ = matmul(tmp_path)
    ready = compiled(BACKENDS[1], exported, store)
    assert ready.facts()["engine_settings"]["inference_precision_hint"] == "f32"
    assert not {"bf16", "f16"} & set(ready.facts()["precisions"])


def test_openvino_names_the_operator_that_it_lacks(tmp_path, store):
    exported = graph(tmp_path, [helper.make_node("Det", ["x"], ["y"])], [("x", [4, 4])], [("y", [])])
    with pytest.raises(RefusedGraph, match="Det"):
        compiled(BACKENDS[1], exported, store)

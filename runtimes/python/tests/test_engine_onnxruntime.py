"""ONNX Runtime on a device with memory of its own: what it is told, where its tensors lie, what it says back."""

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from onnx import TensorProto, helper

from assay_runner.engines.contract import Asked, Exported
from assay_runner.engines.onnxruntime import backend
from assay_runner.engines.onnxruntime.session import Bound, Place
from assay_runner.errors import AbsentDevice


def cuda(device):
    return Asked("cuda", device, "fp32", 1)


@pytest.fixture
def session(tmp_path):
    value = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, 4]) for name in ("x", "y")]
    graph = helper.make_graph([helper.make_node("Neg", ["x"], ["y"])], "g", value[:1], value[1:])
    path = tmp_path / "model.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=10), path)
    return ort.InferenceSession(str(path), providers=["CPUExecutionProvider"])


class Told:
    """A session as far as it tells of its providers."""

    def __init__(self, **settings):
        self._settings = settings

    def get_providers(self):
        return ["CUDAExecutionProvider", "CPUExecutionProvider"]

    def get_provider_options(self):
        return {"CUDAExecutionProvider": self._settings, "CPUExecutionProvider": {}}


class Recorded:
    """A binding that writes down what it is asked, and answers as one on a device would."""

    def __init__(self, log):
        self._log = log

    def __getattr__(self, name):
        return lambda *arguments: self._log.append((name, *arguments))


@pytest.mark.parametrize(("device", "index"), [("", "0"), ("0", "0"), ("1", "1")])
def test_the_provider_is_told_its_device_and_to_leave_tf32(device, index):
    first, *others = backend.providers(cuda(device))
    assert first == ("CUDAExecutionProvider", {"device_id": index, "use_tf32": "0"})
    assert others == ["CPUExecutionProvider"]
    assert backend.providers(Asked("cpu", "", "fp32", 1)) == ["CPUExecutionProvider"]
    assert backend.place(cuda(device)) == Place("cuda", int(index))


def test_tensors_lie_on_the_device_before_anything_runs(session, monkeypatch):
    log, made = [], []
    monkeypatch.setattr(session, "io_binding", lambda: Recorded(log))
    monkeypatch.setattr(session, "run_with_iobinding", lambda _: log.append(("run",)))
    monkeypatch.setattr(
        ort.OrtValue, "ortvalue_from_numpy", lambda array, *where: made.append((array, *where)) or "on the device"
    )
    bound, x = Bound(session, ["y"], Place("cuda", 1)), np.ones((1, 4), np.float32)
    bound.bind({"x": x})
    assert [(kind, index) for _, kind, index in made] == [("cuda", 1)]
    assert log == [
        ("bind_ortvalue_input", "x", "on the device"), ("bind_output", "y", "cuda", 1), ("synchronize_inputs",)
    ]  # fmt: skip
    del log[:]
    bound.run()
    assert log == [("run",), ("synchronize_outputs",)], "a run copies nothing, and is awaited"


def test_bound_values_of_its_own_give_the_right_numbers(session, monkeypatch):
    """The way of a device's tensors, on the only device that every machine has."""
    monkeypatch.setattr(Place, "host", property(lambda self: False))
    bound = Bound(session, ["y"], Place())
    for seed in (0, 1):
        x = np.random.default_rng(seed).random((1, 4), np.float32)
        bound.bind({"x": x})
        bound.run()
        np.testing.assert_array_equal(bound.outputs()["y"], -x)


def test_a_session_that_went_on_without_its_provider_is_refused(session):
    with pytest.raises(AbsentDevice, match="would have run on the CPU"):
        backend.confirm(session, cuda("0"))


def test_another_device_than_asked_is_refused():
    assert backend.confirm(Told(device_id="1", use_tf32="0"), cuda("1"))["use_tf32"] == "0"
    with pytest.raises(AbsentDevice, match="uses device 0 instead of 1"):
        backend.confirm(Told(device_id="0"), cuda("1"))


@pytest.mark.parametrize(("told", "tf32"), [("0", False), ("1", True)])
def test_precision_is_what_the_session_says(session, monkeypatch, told, tf32):
    monkeypatch.setattr(ort, "InferenceSession", lambda *_, **__: session)
    monkeypatch.setattr(backend, "confirm", lambda *_: {"device_id": "0", "use_tf32": told})
    compiled = backend.Session(cuda("0"), Exported("k", "model.onnx", [], [{"name": "y"}], lambda n: []))
    facts = compiled.facts()
    assert facts["tf32"] is tf32
    assert facts["engine_settings"] == {"provider": "CUDAExecutionProvider", "device_id": "0", "use_tf32": told}


def test_a_profile_tells_what_nodes_computed_in(session, tmp_path):
    asked, x = Asked("cpu", "", "fp32", 1), np.ones((1, 4), np.float32)
    seen, precisions = backend._profiled(tmp_path / "model.onnx", asked, {"x": x})
    assert seen == {("CPUExecutionProvider", "Neg"): 1}
    assert precisions == {"fp32": 1}

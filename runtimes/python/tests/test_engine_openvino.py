"""Tiny models on OpenVINO's CPU, through the engine, with the real exporters."""

import pytest
import torch_recipes
from torch_emit import Emit, job

from assay_runner.checking import numerics
from assay_runner.engines.formats import ONNX
from assay_runner.engines.graphs import driver
from assay_runner.errors import RefusedGraph, TooLarge, UnsupportedDType
from assay_runner.machine import memory
from assay_runner.subjects import mapped


def run(exports, recipe, kind="check", **cell):
    asked = job(recipe, kind, **{"platform": "openvino", "device": "CPU", "engine": "openvino", **cell})
    emit = Emit()
    driver.run(asked | {"options": {"exports": exports}}, emit)
    return emit


@pytest.mark.parametrize("recipe", [torch_recipes.BERT, torch_recipes.VIT], ids=lambda r: r["type"])
@pytest.mark.parametrize("dtype", ["fp32", "int8", "w8"])
def test_check(exports, recipe, dtype):
    emit = run(exports, recipe, dtype=dtype)
    report = emit.reports[0]
    assert report["numerics"]["pass"], report["numerics"]
    assert report["numerics"]["control"]["pass"]
    assert report["numerics"]["control"]["where"] == "engine"
    assert report["placement"]["nodes"]["CPU"] > 10
    assert report["placement"]["counters"][0]["us"] > 0
    assert report["export"]["via"] == "onnx"
    assert report["export"]["check"]["pass"]
    assert emit.phases[-5:] == ["convert", "compile", "run", "samples", "control"]
    if dtype in numerics.LEAST_SNR_DB:
        assert 20 <= report["numerics"]["snr_db"] < 100
        assert "i8" in report["context"]["precisions"]
    else:
        assert set(report["context"]["precisions"]).isdisjoint({"bf16", "f16"})


def test_half_precision_is_what_runs_or_is_refused(exports):
    try:
        report = run(exports, torch_recipes.BERT, dtype="bf16").reports[0]
    except UnsupportedDType as error:
        assert "fp32" in str(error)  # which of the two it is depends on this machine's CPU
        return
    assert report["context"]["precisions"]["bf16"] > 0
    assert 1e-5 < report["numerics"]["max_rel"] <= 3e-2


@pytest.mark.full  # the integration tests go this way with the same model
def test_directly_from_torch(exports):
    report = run(exports, torch_recipes.BERT, via="torch").reports[0]
    assert report["export"]["via"] == "torch"
    assert report["export"]["check"]["engine"].startswith("openvino")
    assert report["numerics"]["pass"], report["numerics"]


def test_second_way_where_the_first_fails(exports, monkeypatch):
    """The engine takes the model from torch where its ONNX graph is refused; the first reason is said otherwise."""
    own = driver.Session.compiled

    def refusing(self, artefact, point, attempt):
        if artefact.form is ONNX:
            raise RefusedGraph("no conversion rule")
        return own(self, artefact, point, attempt)

    monkeypatch.setattr(driver.Session, "compiled", refusing)
    told = run(exports, torch_recipes.BERT, seed=1).reports[0]["export"]
    assert told["via"] == "torch"
    assert [row["way"] for row in told["earlier"]] == ["onnx", "onnx, SNIPPETS_MODE=DISABLE"]
    assert "no conversion rule" in told["earlier"][0]["error"]
    with pytest.raises(RefusedGraph, match="no conversion rule"):
        run(exports, torch_recipes.BERT, via="onnx", seed=1)


def test_second_way_where_the_numbers_are_wrong(exports, monkeypatch):
    """What is timed is the attempt that the check found right, though nothing is compared then."""
    own = driver.Session.wrong_by

    def doubting(self, running):
        settings = running.compiled.facts()["engine_settings"]
        return own(self, running) if settings.get("snippets_mode") == "DISABLE" else 0.5

    with monkeypatch.context() as patched:
        patched.setattr(driver.Session, "wrong_by", doubting)
        checked = run(exports, torch_recipes.BERT, seed=2).reports[0]
    timed = run(exports, torch_recipes.BERT, "time", seed=2).reports[0]
    for report in (checked, timed):
        assert report["export"]["via"] == "onnx"
        assert report["export"]["way"] == "onnx, SNIPPETS_MODE=DISABLE"
        assert report["export"]["earlier"] == [{"way": "onnx", "error": "its numbers are wrong by 0.5"}]
        assert report["context"]["engine_settings"]["snippets_mode"] == "DISABLE"
    assert checked["numerics"]["pass"], checked["numerics"]


def test_dynamic_shapes(exports):
    report = run(exports, torch_recipes.BERT, shapes="dynamic").reports[0]
    assert report["numerics"]["pass"], report["numerics"]


def test_timed_finds_what_the_check_left(exports):
    run(exports, torch_recipes.BERT)
    emit = run(exports, torch_recipes.BERT, "time")
    assert emit.phases[-4:] == ["convert", "compile", "first", "warmup"]
    assert "build" not in emit.phases
    report = emit.reports[0]
    assert report["export"]["found"]
    assert len(report["samples_ms"]) >= 5
    assert report["numerics"] is None


def test_throughput_counts_inferences(exports):
    report = run(exports, torch_recipes.BERT, "time", scenario="throughput").reports[0]
    assert "in flight" in report["inputs_inside"]
    assert report["context"]["engine_settings"]["performance_hint"] == "THROUGHPUT"
    assert all(ms > 0 for ms in report["samples_ms"])


def test_a_model_too_large_in_32_bits_goes_in_16(tmp_path, monkeypatch):
    monkeypatch.setattr(mapped, "LEAST_BYTES", 1 << 10)
    recipe = {**torch_recipes.BERT, "parameters": 20_000_000}  # this many are counted before anything is built
    asked = job(recipe, platform="openvino", device="CPU", engine="openvino", dtype="w8")
    asked |= {"options": {"exports": str(tmp_path)}}
    monkeypatch.setattr(memory, "available", lambda: 1 << 10)
    emit = Emit()
    driver.run(asked, emit)
    report = emit.reports[0]
    assert report["numerics"]["pass"], report["numerics"]
    assert report["numerics"]["control"]["pass"]
    assert report["numerics"]["reference"] == "cpu fp32, layer by layer"
    assert "weights of 16 bits" in [step["name"] for step in report["export"]["steps"]]
    assert all("need" in row["error"] for row in report["export"]["earlier"])
    assert "i8" in report["context"]["precisions"]
    with pytest.raises(TooLarge):  # scales of 4 bits are fitted to what the layers see: the model would have to run
        driver.run(asked | {"cell": asked["cell"] | {"dtype": "w4"}}, Emit())

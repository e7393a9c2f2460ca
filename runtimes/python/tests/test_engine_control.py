"""The negative control on the engine itself: what it must notice, and what it must not let pass."""

from pathlib import Path

import numpy as np
import pytest
import torch
import torch_recipes
from torch_emit import Emit, job

from assay_runner.checking import control
from assay_runner.engines.graphs import damaged, driver, engine_control
from assay_runner.engines.graphs.engine_control import Measure
from assay_runner.engines.onnxruntime import backend as onnxruntime
from assay_runner.engines.openvino import backend as openvino
from assay_runner.errors import RefusedGraph
from assay_runner.exporting import damaging
from assay_runner.subjects.recipes import making

ENGINES = {
    "onnxruntime": {"platform": "cpu", "engine": "onnxruntime"},
    "openvino": {"platform": "openvino", "device": "CPU", "engine": "openvino"},
}
BACKENDS = {"onnxruntime": onnxruntime.OnnxRuntime, "openvino": openvino.OpenVINO}


def checked(exports, recipe, engine, **cell):
    emit = Emit()
    driver.run(job(recipe, **ENGINES[engine], **cell) | {"options": {"exports": exports}}, emit)
    return emit.reports[0]["numerics"]


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("model_type", ["bert", "resnet", "mixtral"])
def test_an_engine_shows_the_damage(exports, engine, model_type):
    recipe = torch_recipes.BERT if model_type == "bert" else making.tiny(model_type)
    numbers = checked(exports, recipe, engine)
    found = numbers["control"]
    assert found["pass"], found
    assert (found["where"], found["note"]) == ("engine", "")
    assert found["change"] == pytest.approx(found["expected"], rel=1e-2)
    assert found["off"] <= numbers["tolerance"]
    assert found["change"] >= 10 * numbers["tolerance"]
    assert isinstance(found["unmoved"], list)


def test_nothing_of_the_damaged_graph_is_kept(exports):
    found = checked(exports, torch_recipes.BERT, "openvino")
    assert found["control"]["where"] == "engine"
    manifests = [file.read_text() for file in Path(exports).rglob("manifest.json")]
    assert any('"openvino"' in text for text in manifests)
    assert not any("-damaged-" in text for text in manifests)


@pytest.mark.parametrize("engine", ENGINES)
def test_an_engine_that_takes_its_weights_from_elsewhere_is_noticed(exports, monkeypatch, engine):
    """It compiles the first graph that it saw, whatever it is given: right numbers, and no control."""
    own, first = BACKENDS[engine].prepare, []

    def same(self, exported):
        first.append(exported)
        return own(self, first[0])

    monkeypatch.setattr(BACKENDS[engine], "prepare", same)
    numbers = checked(exports, torch_recipes.BERT, engine)
    assert len(first) > 1
    assert numbers["pass"]
    assert not numbers["control"]["pass"]
    assert numbers["control"]["change"] < numbers["tolerance"] < numbers["control"]["expected"]


def test_an_engine_that_gives_just_anything_is_noticed(exports, monkeypatch):
    own = onnxruntime.Session.outputs

    def anything(self):
        found = own(self)
        if "damaged" not in self.key:
            return found
        return {name: np.random.default_rng(0).random(a.shape, a.dtype) for name, a in found.items()}

    monkeypatch.setattr(onnxruntime.Session, "outputs", anything)
    found = checked(exports, torch_recipes.BERT, "onnxruntime")["control"]
    assert found["change"] > 0.1
    assert found["off"] > 0.1
    assert not found["pass"]
    assert "other than the one that was expected" in found["note"]


def test_an_engine_that_refuses_the_damaged_graph(exports, monkeypatch):
    own = onnxruntime.OnnxRuntime.compile

    def refusing(self, prepared):
        if "damaged" in prepared.key:
            raise RefusedGraph("not these weights")
        return own(self, prepared)

    monkeypatch.setattr(onnxruntime.OnnxRuntime, "compile", refusing)
    numbers = checked(exports, torch_recipes.BERT, "onnxruntime")
    assert numbers["pass"]
    assert numbers["control"]["change"] is None
    assert not numbers["control"]["pass"]
    assert numbers["control"]["note"] == "the damaged graph did not run: RefusedGraph: not these weights"


FORMS = {
    "from torch": (torch_recipes.BERT, {"via": "torch"}),
    "generation": (torch_recipes.LLAMA, {"mode": "generate"}),
}


@pytest.mark.parametrize("form", FORMS)
def test_a_form_that_is_no_onnx_is_written_again_damaged(exports, form):
    recipe, cell = FORMS[form]
    numbers = checked(exports, recipe, "openvino", **cell)
    found = numbers["control"]
    assert found["pass"], found
    assert (found["where"], found["note"]) == ("engine", "")
    assert found["change"] == pytest.approx(found["expected"], rel=1e-3)
    assert found["change"] >= 0.3
    assert found["off"] <= numbers["tolerance"]


@pytest.mark.parametrize("form", FORMS)
def test_an_engine_that_keeps_its_first_weights_is_noticed_in_every_form(exports, monkeypatch, form):
    own, first = openvino.OpenVINO.prepare, []

    def same(self, exported):
        first.append(exported)
        return own(self, first[0])

    monkeypatch.setattr(openvino.OpenVINO, "prepare", same)
    recipe, cell = FORMS[form]
    numbers = checked(exports, recipe, "openvino", **cell)
    assert numbers["pass"]
    assert not numbers["control"]["pass"]
    assert numbers["control"]["change"] < numbers["tolerance"] < numbers["control"]["expected"]


def test_a_damaged_model_that_cannot_be_written_is_said(tmp_path, monkeypatch):
    def refused(*_):
        return damaging.nothing("no exporter could")

    monkeypatch.setattr(damaged, "_written", refused)
    found = checked(str(tmp_path), torch_recipes.BERT, "openvino", via="torch")["control"]
    assert (found["kind"], found["where"], found["why"]) == ("zero-attention", "reference", "no exporter could")


def test_damage_to_weights_is_undone_to_the_bit():
    model = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.LayerNorm(8), torch.nn.Linear(8, 4))
    before = {name: t.clone() for name, t in model.state_dict().items()}
    found = damaged.damages(model)
    assert [(damage.kind, damage.of) for damage in found] == [
        ("negate-quarter", "2.weight"),
        ("negate-quarter", "0.weight"),
        ("negate-weight", "2.weight"),
        ("negate-weight", "0.weight"),
        ("negate-quarters", "all weights"),
    ]
    for damage in found:
        with damage.done():
            moved = {name for name, t in model.state_dict().items() if not torch.equal(t, before[name])}
        assert moved == ({"0.weight", "2.weight"} if damage.of == "all weights" else {damage.of})
        assert all(torch.equal(t, before[name]) for name, t in model.state_dict().items())
    assert damaged.damages(torch.nn.ReLU()) == []


@pytest.mark.parametrize(
    ("kind", "passed", "unseen"),
    [("zero-mlp", True, False), ("zero-mlp", False, True), ("other-input", False, False), ("other-input", True, False)],
)
def test_another_input_says_nothing_of_damage(kind, passed, unseen):
    assert engine_control._unseen({"kind": kind, "pass": passed}) is unseen


def test_larger_models_are_damaged_in_torch_only(tmp_path):
    found = checked(str(tmp_path), {**torch_recipes.BERT, "size": "full"}, "onnxruntime")["control"]
    assert (found["kind"], found["where"]) == ("zero-attention", "reference")
    assert "why" not in found


@pytest.mark.parametrize("dtype", ["fp32", "w8"])
def test_a_model_without_what_is_damaged_does_not_pass(tmp_path, dtype):
    """Its control damaged nothing: no noise was measured, and none is no proof."""
    recipe = {**torch_recipes.BERT, "control": {"kind": "zero-index"}}
    numbers = checked(str(tmp_path), recipe, "openvino", dtype=dtype)
    assert numbers["pass"], numbers
    assert not numbers["control"]["pass"]
    assert numbers["control"]["where"] == "reference"


NOISE, ERROR = Measure(None, "int8"), Measure(1e-3, "fp32")


@pytest.mark.parametrize(
    ("measure", "change", "snr_db", "seen"),
    [
        (ERROR, 0.01, None, True),
        (ERROR, 0.009, None, False),
        (ERROR, control.CAP, None, True),
        (NOISE, 2.0, 10.0, True),
        (NOISE, 2.0, 10.1, False),
        (NOISE, control.CAP, None, True),  # numbers were lost: a quantised model cannot show more
        (NOISE, 0.0, None, False),
        (NOISE, None, None, False),
    ],
)
def test_what_counts_as_seen(measure, change, snr_db, seen):
    assert measure.seen(change, snr_db) is seen


@pytest.mark.parametrize(
    ("measure", "shown", "off", "explained"),
    [
        (ERROR, {"change": 0.5}, {"change": 0.05}, True),
        (ERROR, {"change": 0.5}, {"change": 0.06}, False),
        (NOISE, {"change": 2.0, "snr_db": 0.0}, {"change": 0.1, "snr_db": 10.0}, True),
        (NOISE, {"change": 2.0, "snr_db": 0.0}, {"change": 0.1, "snr_db": 9.9}, False),
        (NOISE, {"change": 2.0, "snr_db": 0.0}, {"change": 0.1, "snr_db": None}, False),
    ],
)
def test_a_change_is_the_damage_and_little_else(measure, shown, off, explained):
    assert measure.explained(shown, off) is explained


def effect(number, change, snr_db, finite=True):
    return {"number": number, "kind": "k", "of": "w", "change": change, "snr_db": snr_db, "finite": finite}


@pytest.mark.parametrize(
    ("measure", "number"), [(ERROR, 1), (Measure(1e-2, "fp16"), 2), (NOISE, 3), (Measure(1.0, "fp32"), 3)]
)
def test_the_smallest_damage_that_is_enough(measure, number):
    """Else the largest, which then does not pass; never one that leaves no numbers."""
    effects = [effect(0, 0.005, 40.0), effect(1, 0.02, 30.0), effect(2, 0.2, 15.0), effect(3, 2.0, 5.0)]
    effects.insert(0, effect(9, control.CAP, None, finite=False))
    assert engine_control.chosen(effects, measure)["number"] == number


@pytest.mark.parametrize(
    ("engine", "dtype", "unmoved"), [("onnxruntime", "fp32", []), ("openvino", "w8", ["pred_boxes"])]
)
def test_outputs_that_no_damage_moves_are_named(exports, engine, dtype, unmoved):
    """Boxes of a tiny model move by hundredths, which is enough for fp32 and lost in the noise of 8 bits."""
    found = checked(exports, torch_recipes.DETR, engine, dtype=dtype)["control"]
    assert found["pass"]
    assert found["unmoved"] == unmoved


@pytest.mark.parametrize(("agreed", "judged"), [(0, False), (1, True)])
def test_a_generation_whose_first_tokens_part_is_not_judged(exports, monkeypatch, agreed, judged):
    """Logits of the prompt alone say nothing about the cache."""
    own = driver.Session.first

    def other(self, running):
        found = dict(own(self, running))
        found["generated"] = found["generated"].clone()
        found["generated"][:, agreed] += 1
        return found

    monkeypatch.setattr(driver.Session, "first", other)
    emit = Emit()
    cell = {**ENGINES["openvino"], "mode": "generate"}
    driver.run(job(torch_recipes.LLAMA, **cell) | {"options": {"exports": exports}}, emit)
    report = emit.reports[0]
    assert report["generation"]["agreed_tokens"] == agreed
    assert (report["numerics"] is not None) is judged
    assert ("no step with a cache" in report["numerics_note"]) is not judged

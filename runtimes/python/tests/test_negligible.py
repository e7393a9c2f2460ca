"""An output close to zero is not judged; one that should be, and is not, is wrong."""

import pytest
import torch
import torch_recipes
from torch_emit import Emit, job

from assay_runner.checking import consistency, numerics, reference, tolerances
from assay_runner.engines.graphs import artefact, driver, sampling
from assay_runner.engines.torch import checks, engine

LOGITS = torch.tensor([0.6, -0.3, 0.1])
SOUND = torch.tensor([5.7e-7, -2e-7, 1e-7])  # what a vocoder makes of drawn weights
OFF = SOUND + 1.8e-7  # the same on a GPU


def outcome(actual, expected, dtype="fp32"):
    compared = numerics.compare(actual, expected, dtype)
    return compared.report(tolerances.TABLE.get(dtype, 0.0), "x")["pass"], list(compared.negligible)


@pytest.mark.parametrize(
    ("what", "actual", "expected", "dtype", "want"),
    [
        ("close to zero on both sides", OFF, SOUND, "fp32", (True, ["sound"])),
        ("and in a dtype whose rounding is larger", SOUND + 1e-3, SOUND, "bf16", (True, ["sound"])),
        ("it should be, and is not", SOUND + 1e-3, SOUND, "fp32", (False, [])),
        ("nor is it in half precision", SOUND + 0.1, SOUND, "bf16", (False, [])),
        ("zero is zero", OFF, torch.zeros(3), "fp32", (False, [])),
        ("zero that is right", torch.zeros(3), torch.zeros(3), "fp32", (True, [])),
        ("numbers that are none", SOUND * torch.nan, SOUND, "fp32", (False, [])),
        ("a mask", torch.where(SOUND > 0, SOUND, torch.finfo(torch.float32).min), SOUND, "fp32", (False, [])),
        ("another shape", OFF[:2], SOUND, "fp32", (False, [])),
        ("small and right", SOUND * 100, SOUND * 100, "fp32", (True, [])),
        ("small and wrong", SOUND * 150, SOUND * 100, "fp32", (False, [])),
    ],
)
def test_beside_another_output(what, actual, expected, dtype, want):
    assert outcome({"logits": LOGITS, "sound": actual}, {"logits": LOGITS, "sound": expected}, dtype) == want, what


def test_the_others_are_compared_all_the_same():
    found, expected = {"logits": LOGITS + 0.1, "sound": OFF}, {"logits": LOGITS, "sound": SOUND}
    compared = numerics.compare(found, expected)
    assert compared.output == "logits" and not compared.report(1e-3, "x")["pass"]
    assert compared.report(1e-3, "x")["negligible"] == {"sound": pytest.approx(5.7e-7)}
    assert 0 < numerics.signal_to_noise_db(found, expected, "int8") < 20
    assert numerics.signal_to_noise_db(expected | {"sound": OFF}, expected, "int8") == numerics.CAP_DB


def test_a_lone_output_is_its_own_scale():
    """Its error shrinks with it: deep convolutions with drawn weights give 1e-34, and are compared."""
    assert outcome({"y": LOGITS * 1e-34}, {"y": LOGITS * 1e-34}) == (True, [])
    assert outcome({"y": LOGITS * 1.1e-34}, {"y": LOGITS * 1e-34}) == (False, [])


def test_large_outputs_make_no_other_one_nothing():
    assert outcome({"big": LOGITS * 1e9, "y": LOGITS * 2}, {"big": LOGITS * 1e9, "y": LOGITS}) == (False, [])


def test_what_a_dtype_has_no_numbers_for_is_not_checked():
    beside, chosen = {"y": SOUND, "x": LOGITS}, {"y": SOUND, "i": torch.tensor([2])}
    assert numerics.compare({"y": torch.zeros(3), "x": LOGITS}, beside, "fp16").unchecked == ""
    compared = numerics.compare({"y": torch.zeros(3), "i": torch.tensor([1])}, chosen, "fp16")
    assert "5.7e-07 at most" in compared.unchecked
    assert not numerics.compare({"y": LOGITS}, {"y": SOUND}, "fp16").report(1e-2, "x")["pass"]


def test_targets_that_agree_on_nothing():
    tiny = SOUND * 1e-38
    assert consistency.difference({"y": tiny * 2}, {"y": tiny})["max_rel"] is None


@pytest.fixture
def whispering(monkeypatch):
    """A model that gives a second output close to zero, as its reference has it and as it comes out."""
    computed, ran = reference.compute, checks._run

    def compute(*args):
        known = computed(*args)
        known.outputs = [{**found, "sound": SOUND.double()} for found in known.outputs]
        return known

    monkeypatch.setattr(reference, "compute", compute)
    monkeypatch.setattr(checks, "_run", lambda *args: (lambda seen, ms: ({**seen, "sound": OFF}, ms))(*ran(*args)))
    forward = engine.Session.forward
    monkeypatch.setattr(engine.Session, "forward", lambda *args: {**forward(*args), "sound": SOUND})


def test_the_torch_engine_names_it(whispering):
    emit = Emit()
    engine.run(job(torch_recipes.BERT), emit)
    found = emit.reports[0]["numerics"]
    assert found["pass"] and found["output"] == "logits" and list(found["negligible"]) == ["sound"]
    assert found["control"]["pass"]


def _engine(exports, monkeypatch, spoil, **cell):
    """A check of ONNX Runtime whose reference and outputs are spoilt after the graph was made."""
    kept, made = artefact.Artefact.reference, sampling.tensors
    monkeypatch.setattr(artefact.Artefact, "reference", lambda self: spoil(kept(self), SOUND))
    monkeypatch.setattr(sampling, "tensors", lambda compiled: spoil(made(compiled), OFF))
    emit = Emit()
    asked = job(torch_recipes.BERT, **{"engine": "onnxruntime", **cell})
    driver.run(asked | {"options": {"exports": exports}}, emit)
    return emit.reports[0]


def test_engines_of_graphs_name_it(exports, monkeypatch):
    found = _engine(exports, monkeypatch, lambda tensors, sound: {**tensors, "sound": sound})["numerics"]
    assert found["pass"] and found["output"] == "logits" and list(found["negligible"]) == ["sound"]


def test_a_check_of_nothing_is_none(exports, monkeypatch):
    report = _engine(exports, monkeypatch, lambda tensors, sound: {"logits": sound * 1e-38})
    assert (
        report["numerics"] is None
        and report["constant"] is None
        and "too close to zero to judge" in report["numerics_note"]
    )


def test_a_check_of_nothing_is_none_in_torch_either(monkeypatch):
    monkeypatch.setattr(engine.outputs, "flatten", lambda output: {"logits": output.logits * 1e-12})
    emit = Emit()
    engine.run(job(torch_recipes.BERT, dtype="fp16"), emit)
    report = emit.reports[0]
    assert (
        report["numerics"] is None
        and report["constant"] is None
        and "too close to zero to judge" in report["numerics_note"]
    )

import copy
import os
import signal
import sys
import time

import pytest
import torch
import torch_recipes
from torch_emit import Emit, job

from assay_runner.checking import damages, noise
from assay_runner.engines.torch import checks, engine
from assay_runner.errors import AbsentDevice, BadRecipe, NotInRelease, TooLarge, Unsuited, UnsupportedDType
from assay_runner.subjects import models
from assay_runner.subjects.programs import building

RECIPES = list(torch_recipes.ALL.values())


def run(*args, **kwargs):
    emit = Emit()
    engine.run(job(*args, **kwargs), emit)
    return emit


@pytest.mark.parametrize(("kind", "dtype", "times"), [("check", "fp32", 2), ("check", "fp16", 11), ("time", "fp16", 0)])
def test_noise_is_shared_where_it_is_compared_and_never_where_it_is_timed(monkeypatch, kind, dtype, times):
    """In the reference, once more for the samples beside the first, and where it is of another kind in every run too:
    one, seven samples, the control."""
    entered, right = [], noise.Drawn.__enter__
    monkeypatch.setattr(noise.Drawn, "__enter__", lambda self: entered.append(self) or right(self))
    run(torch_recipes.BERT, kind=kind, dtype=dtype)
    assert len(entered) == times


@pytest.mark.parametrize("dtype", ["fp32", "bf16", "fp16"])
@pytest.mark.parametrize("recipe", RECIPES, ids=lambda r: r["type"])
def test_check(recipe, dtype):
    emit = run(recipe, dtype=dtype)
    report = emit.reports[0]
    numerics = report["numerics"]
    assert emit.phases == ["import", "build", "reference", "run", *["samples"] * bool(numerics["samples"]), "control"]
    assert numerics["pass"], numerics
    assert all(row["pass"] for row in numerics["samples"]), numerics
    assert numerics["reference"] == ("cpu fp64" if dtype == "fp32" else "cpu fp32")
    assert numerics["max_rel"] > 0
    assert numerics["control"]["pass"], numerics
    assert numerics["control"]["kind"] == recipe["control"]["kind"]
    assert report["finite"]
    assert not report["constant"]
    assert report["outputs"][0]["shape"][0] == 1
    assert report["placement"]["device"] == "cpu"
    assert report["parameters"] == building.parameter_count(recipe)
    assert report["attn_implementation"] == "sdpa"
    assert report["memory"]["device_peak_bytes"] is None
    assert report["memory"]["host_peak_bytes"] >= report["memory"]["host_baseline_bytes"] > 0


def test_same_cell_gives_same_bytes_and_subject():
    one, two = (run(torch_recipes.BERT).reports[0] for _ in range(2))
    assert one["numerics"]["output_hash"] == two["numerics"]["output_hash"]
    assert one["subject_hash"] == two["subject_hash"]


def test_subject_depends_on_what_is_computed_and_not_on_how():
    base = run(torch_recipes.BERT).reports[0]["subject_hash"]
    assert base == run(torch_recipes.BERT, dtype="bf16").reports[0]["subject_hash"]
    assert base != run(torch_recipes.BERT, seed=1).reports[0]["subject_hash"]
    assert base != run(torch_recipes.BERT, points=[{"batch": 2}]).reports[0]["subject_hash"]
    assert base != run(torch_recipes.BERT | {"gain": 5.0}).reports[0]["subject_hash"]


def test_several_points_with_one_model():
    emit = run(torch_recipes.BERT, points=[{"batch": 1}, {"batch": 3, "seq": 8}])
    assert [emit.reports[i]["outputs"][0]["shape"] for i in (0, 1)] == [[1, 16, 256], [3, 8, 256]]
    assert all(emit.reports[i]["numerics"]["pass"] for i in (0, 1))
    assert all(emit.reports[i]["numerics"]["control"]["pass"] for i in (0, 1))


def test_each_point_has_a_peak_of_its_own():
    emit = run(torch_recipes.BERT, points=[{"batch": 512, "seq": 64}, {"batch": 1}])
    large, small = (emit.reports[i]["memory"]["host_peak_bytes"] for i in (0, 1))
    assert large - small > 20 << 20  # the logits of the larger point alone are 32 MiB


def test_tolerance_follows_size_and_weights():
    recipe = {**torch_recipes.BERT, "type": "clip"}

    def tolerance(**cell):
        return engine.Session(job(recipe, dtype="fp16", **cell), Emit()).tolerance.most

    assert tolerance() == tolerance(size="full", weights="hub") == 1e-2
    assert tolerance(size="full") == 3e-2


def test_what_a_control_lacks_is_in_its_note():
    recipe = {**torch_recipes.VIT, "control": {"kind": "zero-mlp"}}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(damages, "targets", lambda model, kind: [])
        numerics = run(recipe).reports[0]["numerics"]
    assert numerics["pass"]
    assert "no part" in numerics["control"]["note"]


def test_a_damaged_model_fails(monkeypatch):
    # The model that is run is damaged after its reference was computed.
    right = checks._run

    def damaged(session, built, placed):
        with damages.zeroed(damages.targets(built.model, "zero-attention")):
            return right(session, built, placed)

    monkeypatch.setattr(checks, "_run", damaged)
    numerics = run(torch_recipes.BERT).reports[0]["numerics"]
    assert not numerics["pass"]
    assert numerics["max_rel"] > 0.1


def test_numbers_that_are_none_fail(monkeypatch):
    right = checks._run

    def poisoned(session, built, placed):
        seen, ms = right(session, built, placed)
        logits = seen["logits"].clone()
        logits.view(-1)[7] = float("nan")
        return {"logits": logits}, ms

    monkeypatch.setattr(checks, "_run", poisoned)
    report = run(torch_recipes.BERT).reports[0]
    assert not report["finite"]
    assert not report["numerics"]["pass"]
    assert report["numerics"]["max_rel"] is None


def test_another_attention_is_the_reference_where_float64_cannot_be(monkeypatch):
    cls = models.model_class(torch_recipes.BERT)
    forward = cls.forward

    def picky(self, *args, **kwargs):
        if self.dtype is torch.float64:
            raise RuntimeError("expected scalar type Float but found Double")
        return forward(self, *args, **kwargs)

    monkeypatch.setattr(cls, "forward", picky)
    numerics = run(torch_recipes.BERT).reports[0]["numerics"]
    assert numerics["reference"] == "attention eager"
    assert "found Double" in numerics["note"]
    assert numerics["control"]["note"] == ""
    assert numerics["pass"]
    assert numerics["control"]["pass"]


def test_a_reference_that_does_not_fit_is_a_note(monkeypatch):
    rooms = iter([None, None, 1000])  # asked twice while building, then for the reference
    monkeypatch.setattr(engine.memory, "available", lambda: next(rooms))
    report = run(torch_recipes.BERT, dtype="bf16").reports[0]
    assert report["numerics"] is None
    assert "more than is free" in report["numerics_note"]
    assert report["finite"]


def test_time():
    emit = run(torch_recipes.BERT, kind="time", points=[{"batch": 1}, {"batch": 2}])
    assert emit.phases == ["import", "build", "first", "warmup", "first", "warmup"]
    assert emit.states == ["begin", "end", "begin", "end"]
    for index, batch in ((0, 1), (1, 2)):
        report = emit.reports[index]
        assert report["outputs"][0]["shape"][0] == batch
        assert len(report["samples_ms"]) >= 5
        assert min(report["samples_ms"]) > 0
        assert report["device_samples_ms"] is None
        assert report["cpu_ms_per_iter"] > 0
        assert report["warmup"]["count"] > 0
        assert report["numerics"] is None
        assert report["phases_ms"]["first"] > 0


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"cell": {"platform": "cuda", "device": "63"}}, AbsentDevice),
        ({"cell": {"platform": "rocm"}}, AbsentDevice),
        ({"cell": {"platform": "abacus"}}, AbsentDevice),
        ({"cell": {"dtype": "int8"}}, UnsupportedDType),
        ({"cell": {"mode": "dream"}}, Unsuited),
        ({"recipe": {}}, BadRecipe),
        ({"recipe": {**torch_recipes.BERT, "class": "BertForEverything"}}, BadRecipe),
        ({"recipe": {**torch_recipes.BERT, "class": "os.system"}}, BadRecipe),
        ({"recipe": {**torch_recipes.BERT, "control": {"kind": "shake"}}}, BadRecipe),
        ({"recipe": {**torch_recipes.BERT, "type": "bert_of_2031", "class": "Bert2031Model"}}, NotInRelease),
        ({"kind": "ponder"}, BadRecipe),
    ],
)
def test_bad_jobs(change, error):
    with pytest.raises(error):
        engine.run({**job(torch_recipes.BERT), **change}, Emit())


def test_ten_terabytes_are_refused_before_anything_is_allocated():
    recipe = copy.deepcopy(torch_recipes.LLAMA)
    recipe["config"] |= {"vocab_size": 1 << 24, "hidden_size": 1 << 16, "num_hidden_layers": 40}
    for parameters in (2_500_000_000_000, 0, 1000):  # stated, not stated, and a lie
        emit = Emit()
        with pytest.raises(TooLarge):
            engine.run(job({**recipe, "parameters": parameters}), emit)
        assert emit.failed_in == "build"
        assert not emit.reports


def test_a_models_own_exception_keeps_its_type_and_phase():
    recipe = {**torch_recipes.BERT, "inputs": [{**torch_recipes.TEXT[0], "high": 100_000}]}
    emit = Emit()
    with pytest.raises(IndexError):
        engine.run(job(recipe), emit)
    assert emit.failed_in == "run"


def test_a_forked_child_runs_after_a_preload_without_threads():
    """The zygote's situation: import everything in a process with one thread, then compute in a fork of it."""
    pid = os.fork()
    if pid == 0:  # a process of its own, so that what other tests did does not matter
        program = _ZYGOTE.format(paths=[path for path in sys.path if path])
        os.execv(sys.executable, [sys.executable, "-c", program])
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            assert os.waitstatus_to_exitcode(status) == 0
            return
        time.sleep(0.05)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    pytest.fail("the forked child hung")


_ZYGOTE = """
import os, sys
os.environ["OPENBLAS_NUM_THREADS"] = "1"
sys.path[:0] = {paths!r}
from assay_runner.engines import preimporting
assert preimporting.preimport() == {{}}
import torch_recipes
from torch_emit import Emit, job
preimporting.preload({{"recipe": torch_recipes.BERT}})
assert len(os.listdir("/proc/self/task")) == 1, "importing started a thread"
before = set(sys.modules)
for _ in range(2):
    pid = os.fork()
    if pid == 0:
        from assay_runner.engines.torch import engine
        emit = Emit()
        engine.run({{**job(torch_recipes.BERT), "threads": 2}}, emit)
        late = [m for m in set(sys.modules) - before if m.startswith(("torch.", "transformers."))]
        ours = [m for m in set(sys.modules) - before if m.startswith("assay_runner.")]
        if ours:
            print("imported by each child:", sorted(ours), flush=True)
        os._exit(0 if emit.reports[0]["numerics"]["pass"] and len(late) < 5 and not ours else 3)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
"""


def test_a_mask_that_the_device_ignores_is_noticed(monkeypatch):
    """The first sample hides nothing, so that only the padded ones can tell."""
    right = engine.Session.placed

    def placed(session, tensors):
        return right(session, {**tensors, "attention_mask": torch.ones_like(tensors["attention_mask"])})

    monkeypatch.setattr(engine.Session, "placed", placed)
    found = run(torch_recipes.BERT).reports[0]["numerics"]
    wrong = [row["name"] for row in found["samples"] if not row["pass"]]
    sides = ["padded at the end", "words padded at the start"]
    assert wrong == [f"two rows, {side}" for side in sides]
    assert not found["pass"]
    assert found["sample"] in wrong
    assert found["max_rel"] > 0.01


@pytest.mark.parametrize(
    ("model_type", "mask"),
    [("wav2vec2", "attention_mask"), ("whisper", "decoder_attention_mask"), ("detr", "pixel_mask")],
)
def test_a_mask_of_any_kind_that_is_ignored_is_noticed(monkeypatch, catalogue, model_type, mask):
    """Of samples of a wave, of a decoder's words, of pixels: by the recipes that come with Assay."""
    right = engine.Session.placed

    def placed(session, tensors):
        return right(session, {**tensors, mask: torch.ones_like(tensors[mask])})

    recipe = catalogue[model_type]
    assert run(recipe).reports[0]["numerics"]["pass"]
    monkeypatch.setattr(engine.Session, "placed", placed)
    assert not run(recipe).reports[0]["numerics"]["pass"]

"""What the trials of the check are made of: mutations, children, the judge's own inputs."""

from __future__ import annotations

import itertools
import os
import signal
import time
from pathlib import Path

import numpy as np
import onnx_ir
import onnxruntime
import pytest
import torch
import torch_recipes
from trials import children, false_alarms, mutants, subjects
from trials.checks import PAGES, Check, Seen, page, read
from trials.drawing import Drawing
from trials.judge import apart
from trials.mutating import MUTATIONS, Graph, Lacking
from trials.planting import Mutant, _apart

HEAD = '<ir_version: 10, opset_import: ["" : 20]>\n'


def test_types_are_drawn_by_the_seed():
    assert [recipe["type"] for recipe in subjects.chosen([], 3, 13)] == ["higgs_audio_v2", "internvl", "vivit"]
    assert [recipe["type"] for recipe in subjects.chosen(["bert"], 3, 13)] == ["bert"]
    with pytest.raises(SystemExit, match="no tiny recipe for: bertt"):
        subjects.chosen(["bertt"], 0, 0)


def graph(text, **constants):
    model = onnx_ir.from_onnx_text(HEAD + text)
    for name, array in constants.items():
        value = next(v for node in model.graph for v in node.inputs if v is not None and v.name == name)
        value.const_value = onnx_ir.tensor(np.asarray(array), name=name)
        model.graph.register_initializer(value)
    return model


def ran(model, **given):
    session = onnxruntime.InferenceSession(onnx_ir.to_proto(model).SerializeToString())
    return session.run(None, given)[0]


def mutated(mutation, model, outputs=((2, 4),)):
    MUTATIONS[mutation](Graph(model, outputs))
    return model


X = np.random.default_rng(0).normal(size=(2, 4)).astype(np.float32)
W = np.random.default_rng(1).normal(size=(4, 4)).astype(np.float32)
LINEAR = "g (float[2, 4] x) => (float[2, 4] y) { h = MatMul(x, w) z = Add(h, b) k = MatMul(z, w) y = Add(k, b) }"


def test_one_user_of_a_bias_loses_it():
    found = ran(mutated("bias zeroed", graph(LINEAR, w=W, b=np.ones(4, np.float32))), x=X)
    np.testing.assert_allclose(found, (X @ W + 1) @ W, rtol=1e-5)


def test_products_have_the_bits_of_half_precision():
    text = "g (float[2, 4] x) => (float[2, 4] y) { y = MatMul(x, w) }"
    rounded = [a.astype(np.float16).astype(np.float32) for a in (X, W)]
    np.testing.assert_allclose(
        ran(mutated("half precision", graph(text, w=W)), x=X), rounded[0] @ rounded[1], rtol=1e-6
    )


def test_the_rows_of_an_output_are_swapped():
    np.testing.assert_array_equal(
        ran(mutated("rows swapped", graph("g (float[2, 4] x) => (float[2, 4] y) { y = Neg(x) }")), x=X), -X[::-1]
    )


def test_norms_have_a_larger_epsilon():
    text = "g (float[2, 4] x) => (float[2, 4] y) { s = Mul(x, x) a = Add(s, e) y = Sqrt(a) }"
    found = ran(mutated("epsilon x 1000", graph(text, e=np.float32(1e-5))), x=X)
    np.testing.assert_allclose(found, np.sqrt(X * X + 1e-2), rtol=1e-5)


def test_a_mask_hides_nothing():
    text = "g (float[2, 4] x, float[2, 4] attention_mask) => (float[2, 4] y) { y = Mul(x, attention_mask) }"
    np.testing.assert_array_equal(ran(mutated("mask ignored", graph(text)), x=X, attention_mask=X * 0), X)


def test_heads_change_places():
    text = """g (float[1, 2, 4] x) => (float[1, 2, 2, 2] y)
        <float[1, 2, 4] h> { h = MatMul(x, w) y = Reshape(h, s) }"""
    model = graph(text, w=W, s=np.asarray([1, 2, 2, 2]))
    expected = (X[None] @ W).reshape(1, 2, 2, 2)[:, :, ::-1]
    np.testing.assert_allclose(ran(mutated("heads swapped", model, [(1, 2, 2, 2)]), x=X[None]), expected, rtol=1e-6)


def test_only_keys_are_turned_further():
    text = """g (float[2, 4] x) => (float[2, 2] y) <float[2, 4] q, float[2, 4] k, float[4, 2] t> {
        q = Mul(x, cos) qs = Mul(x, sin) a = Add(q, qs) k = Mul(x, cos) ks = Mul(x, sin) b = Add(k, ks)
        t = Transpose <perm = [1, 0]> (b) y = MatMul(a, t) }"""
    angle = np.asarray([[0.0, 0.1, 0.2, 0.3], [1.0, 1.1, 1.2, 1.3]], np.float32)
    cos, sin = np.cos(angle), np.sin(angle)
    found = ran(mutated("rotary off by one", graph(text, cos=cos, sin=sin), [(2, 2)]), x=X)
    np.testing.assert_allclose(found, (X * (cos + sin)) @ (X * (cos + sin)[::-1]).T, rtol=1e-5)


@pytest.mark.parametrize("mutation", list(MUTATIONS))
def test_what_a_graph_lacks_is_said(mutation):
    with pytest.raises(Lacking, match="no "):
        mutated(mutation, graph("g (int64[1] x) => (int64[1] y) { y = Neg(x) }"), [None])


def test_a_refused_graph_says_nothing_about_the_check():
    trial = mutants.Trial("t", None, Mutant("rows swapped", "f", 0.5))
    assert mutants.became(trial, {"verdict": "refused"}) == mutants.UNCOUNTED
    assert mutants.became(trial, {children.DIED: "signal 11"}) == mutants.UNCOUNTED
    assert mutants.became(trial, {"verdict": "unjudged"}) == mutants.NOTICED


def test_what_rounding_does_too_stands_apart():
    recipe = {"size": "tiny", "rounding": {"fp16": {"y": [1e-3, 1e-3]}, "fp32": {"y": [1e-7, 1e-7]}}}

    def row(engine, effect, became, output="y", unchanged=None):
        mutant = Mutant("bias zeroed", "f", effect, output)
        return mutants.Trial("t", Check(recipe, engine, Path()), mutant, unchanged).row(became, {"why": ""})

    results = mutants.Results("")
    results.rows = [
        row("qnn", 1e-3, mutants.SURVIVED),
        row("qnn", 2e-3, mutants.SURVIVED),
        row("qnn", 2e-3, mutants.NOTICED),
        row("qnn", 5e-4, mutants.SURVIVED, "another"),
        row("qnn", 5e-3, mutants.SURVIVED, unchanged=6e-3),
        row("webnn", 5e-4, mutants.NOTICED),
        row("webnn", 1e-7, mutants.REMOVED),
    ]
    assert (results.share(), results.share(apart=True)) == (2 / 6, 2 / 4)
    assert (results.share("qnn"), results.share("qnn", apart=True)) == (1 / 5, 1 / 3)
    assert results.share("openvino") == 0


def test_the_output_that_a_fault_moves_is_named():
    right = {"a": torch.tensor([1.0, -2.0]), "b": torch.tensor([4.0]), "c": torch.tensor([1])}
    found = {"a": torch.tensor([1.0, -1.0]), "b": torch.tensor([4.0]), "c": torch.tensor([9])}
    assert _apart(found, right) == (0.5, "a")
    assert _apart(found | {"b": torch.tensor([float("nan")])}, right) == (float("inf"), "b")
    assert _apart({"c": found["c"]}, {"c": right["c"]}) == (0.0, "")


def test_a_report_is_read_as_the_program_does():
    assert read({"finite": False}) == Seen("fails", "not finite")
    assert read({"finite": True, "numerics": None, "numerics_note": "silent"}) == Seen("unjudged", "silent")
    assert read({"numerics": {"pass": False, "sample": "moved"}}).why == "wrong numbers on moved"
    assert read({"numerics": {"pass": True, "precision": "fp16"}}) == Seen("partial", "computes in fp16")


def test_alarms_are_of_models_that_work_there():
    def row(kind, verdict):
        return {"type": kind, "engine": "openvino", "verdict": verdict}

    rows = [row("a", "works"), row("a", "fails"), row("b", "fails"), row("a", "unjudged"), row("a", "refused")]
    counted, wrong = false_alarms.alarms(rows)
    assert (len(counted), [r["verdict"] for r in wrong]) == (3, ["fails", "refused"])


def _work(item):
    if item == "crashes":
        os.kill(os.getpid(), signal.SIGKILL)
    if item == "hangs":
        time.sleep(60)
    if item == "raises":
        raise ValueError("no")
    return {"item": item}


def test_a_child_that_fails_is_one_answer():
    answers = dict(children.each(["good", "crashes", "hangs", "raises"], _work, 2, 2.0))
    assert answers["good"] == {"item": "good"}
    assert answers["crashes"] == {children.DIED: "ended with signal 9"}
    assert answers["hangs"] == {children.DIED: "not done within 2 s"}
    assert answers["raises"][children.DIED].startswith("ValueError: no")


def _used(item):
    began = time.monotonic()
    time.sleep(0.1)
    return {"page": page(), "began": began, "ended": time.monotonic()}


def test_children_that_run_at_once_have_pages_of_their_own(monkeypatch):
    monkeypatch.setenv(PAGES, "first second")
    answers = [answer for _, answer in children.each(range(8), _used, 2, 20.0)]
    assert {answer["page"] for answer in answers} == {"first", "second"}
    for one, other in itertools.combinations(answers, 2):
        at_once = one["began"] < other["ended"] and other["began"] < one["ended"]
        assert not (at_once and one["page"] == other["page"])


def test_a_trial_without_enough_pages_says_so(monkeypatch, capsys):
    monkeypatch.setenv(PAGES, "first")
    with pytest.raises(SystemExit):
        mutants.main(["bert", "--engines", "webnn", "--processes", "2"])
    assert "webnn needs 2 pages" in capsys.readouterr().err


def test_the_judge_draws_what_is_allowed():
    recipe = {
        "inputs": [
            {"name": "input_ids", "kind": "ids", "shape": ["batch", "seq"], "low": 5, "high": 9,
             "place": [{"at": 2, "count": 3, "id": 1}]},
            {"name": "attention_mask", "kind": "ones", "shape": ["batch", "seq"]},
            {"name": "pixel_values", "kind": "float", "shape": ["batch", 3]},
        ]
    }  # fmt: skip
    first = {
        "input_ids": torch.tensor([[5, 6, 1, 1, 1, 7, 8, 5]]),
        "attention_mask": torch.ones(1, 8, dtype=torch.int64),
    }
    first["pixel_values"] = torch.zeros(1, 3)
    drawn = list(Drawing(recipe, first, {"batch": 1, "seq": 8}, frozenset(first)).all(3))
    assert [one.name for one in drawn] == [
        "fresh", "edges", "flat", "hidden after", "hidden before", "moved", "edges, hidden before"
    ]  # fmt: skip
    for one in drawn:
        ids, mask = one.tensors["input_ids"], one.tensors["attention_mask"]
        assert int((ids == 1).sum()) == 3
        assert bool(mask[ids == 1].all())
        assert bool(((ids == 1) | ((ids >= 5) & (ids < 9))).all())
    by_name = {one.name: one for one in drawn}
    assert bool((by_name["hidden before"].tensors["attention_mask"] == 0)[0, 0])
    assert bool((by_name["hidden after"].tensors["attention_mask"] == 0)[0, -1])
    assert not torch.equal(by_name["moved"].tensors["input_ids"] == 1, first["input_ids"] == 1)
    fixed = Drawing(recipe, first, {"batch": 1, "seq": 8}, frozenset({"pixel_values"})).all(3)
    assert all(one.touched == {"pixel_values"} for one in fixed)


def test_hidden_positions_do_not_count():
    recipe = {"inputs": torch_recipes.TEXT}
    first = {"input_ids": torch.full((1, 4), 5), "attention_mask": torch.ones(1, 4, dtype=torch.int64)}
    drawing = Drawing(recipe, first, {"batch": 1, "seq": 4}, frozenset(first))
    given = next(one for one in drawing.all(0) if one.name == "hidden after")
    right = {"logits": torch.ones(1, 4, 2)}
    hidden = {"logits": torch.where((given.tensors["attention_mask"] == 0)[..., None], 9.0, right["logits"])}
    assert apart(hidden, right, given) == 0
    assert apart({"logits": right["logits"] * 2}, right, given) == 1
    assert apart({}, right, given) == float("inf")


def test_another_place_is_taken_in_turn():
    model = graph(LINEAR, w=W, b=np.ones(4, np.float32))
    altered = Graph(model, [(2, 4)], turn=1)
    MUTATIONS["bias zeroed"](altered)
    assert altered.places == [2]
    np.testing.assert_allclose(ran(model, x=X), (X @ W) @ W + 1, rtol=1e-5)

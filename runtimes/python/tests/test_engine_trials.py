"""The trials of the check (tests/trials) can fail: a planted fault is noticed, and a model that nobody changed is not.

With the tests that export models, since bert's graph is shared with them.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import torch_recipes
from trials import mutants
from trials.checks import Check
from trials.judge import Case
from trials.planting import breed


@pytest.fixture(scope="module")
def bert(exports):
    return Check(torch_recipes.BERT, "onnxruntime", Path(exports), via="onnx")


@pytest.fixture(scope="module")
def bred(bert, tmp_path_factory):
    return {mutant.mutation: mutant for mutant in breed(bert, tmp_path_factory.mktemp("mutants"))}


def test_mutants_say_what_they_do(bred):
    assert bred["rows swapped"].effect > 0.1
    assert bred["mask ignored"].effect > 1e-3
    assert bred["bias zeroed"].effect < mutants.NOTHING  # drawn models have biases of zero
    assert 1e-6 < bred["half precision"].effect < 1e-2
    assert bred["rotary off by one"].lacking == "no rotary positions"


@pytest.mark.parametrize("engine", ["onnxruntime", "openvino"])
@pytest.mark.parametrize("mutation", ["rows swapped", "mask ignored"])
def test_a_planted_fault_is_noticed(bert, bred, engine, mutation):
    trial = mutants.Trial("bert", replace(bert, engine=engine), bred[mutation])
    seen = trial.run()
    assert mutants.became(trial, seen) == mutants.NOTICED, seen


def test_half_precision_is_noticed_of_a_model_whose_rounding_no_recipe_knows(bert, bred):
    """As of those that cannot run in float64."""
    assert "rounding" not in bert.recipe
    seen = mutants.Trial("bert", bert, bred["half precision"]).run()
    assert seen["verdict"] == "fails" and seen["tolerance"] < 1e-4 < seen["max_rel"] < 1e-3, seen


@pytest.mark.parametrize("engine", ["onnxruntime", "openvino"])
def test_nothing_is_noticed_where_nothing_is_planted(bert, engine):
    trial = mutants.Trial("bert", replace(bert, engine=engine))
    seen = trial.run()
    assert mutants.became(trial, seen) == mutants.SURVIVED, seen


def test_the_judge_finds_what_a_check_overlooks(bert, bred, tmp_path, monkeypatch):
    """A verdict of "works" about a graph that ignores its mask is wrong, whatever the samples said."""
    case = Case(torch_recipes.BERT, ("onnxruntime",), (7000,), 1e-3, tmp_path)
    right = case._judged(bert)
    assert right["counts"] == {"right": 6}
    monkeypatch.setattr("assay_runner.checking.further.judged", lambda numbers, *_: numbers)
    with mutants.planted(bred["mask ignored"]):
        wrong = case._judged(bert)["wrong"]
    assert {row["input"] for row in wrong} == {"hidden after", "hidden before", "edges, hidden before"}

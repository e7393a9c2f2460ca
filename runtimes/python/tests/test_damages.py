"""Damage from fine to large: what recipes know of it, and that it leaves no trace."""

import pytest
import torch
import torch_recipes

from assay_runner.checking import control, damages, tolerances
from assay_runner.subjects import inputs, outputs
from assay_runner.subjects.fitting import judging
from assay_runner.subjects.programs import building

RECIPES = pytest.mark.parametrize("recipe", torch_recipes.ALL.values(), ids=lambda r: r["type"])


def ran(model, recipe, given):
    with torch.no_grad():
        return outputs.flatten(model(**given, **recipe["call"]))


@RECIPES
def test_damage_leaves_the_model_as_it_was(recipe):
    model, given = building.build(recipe, torch.float32, 0).model, inputs.make(recipe, {"batch": 1}, 0, torch.float32)
    before = {name: t.clone() for name, t in ran(model, recipe, given).items()}
    for kind, make in damages.TABLE.items():
        damaged = make(model, given, True)
        if damaged is None:
            continue
        with damaged.context:
            ran(model, recipe, damaged.inputs)
        after = ran(model, recipe, given)
        assert all(torch.equal(t, after[name]) for name, t in before.items()), kind


@RECIPES
def test_damage_is_graded_by_what_it_does(recipe):
    found = judging.judged(recipe)
    effects = [row["effect"] for row in found["damages"]]
    assert effects == sorted(effects)
    assert len(effects) >= 3 and effects[0] < effects[-1] / 2
    assert all(0 < error <= 1e-5 for error, _ in found["rounding"]["fp32"].values())
    assert "unmoved" not in found


def test_an_output_that_no_damage_moves_is_listed(monkeypatch):
    flat = judging._ran
    monkeypatch.setattr(judging, "_ran", lambda *given: {**flat(*given), "constant": torch.ones(3)})
    assert judging.judged(torch_recipes.BERT)["unmoved"] == ["constant"]


def test_the_smallest_damage_that_must_be_seen_is_chosen():
    recipe = {"damages": [{"kind": "epsilon", "effect": 1e-3}, {"kind": "last-mlp", "effect": 0.2}]}
    recipe["control"] = {"kind": "other-input"}
    assert control.choose(recipe, 1e-5) == "epsilon"
    assert control.choose(recipe, 1e-3) == "last-mlp"
    assert control.choose(recipe, 3e-2) == "other-input", "none must be seen: what the recipe has had before"
    assert control.choose({}, 1e-3) == ""


def test_positions_hidden_are_those_of_masks_that_hide_nothing():
    given = {"attention_mask": torch.ones(2, 4, dtype=torch.int64), "pixel_mask": torch.tensor([[1, 0]])}
    damaged = damages.TABLE["one-position-hidden"](torch.nn.Identity(), given, True)
    assert damaged.inputs["attention_mask"].tolist() == [[1, 1, 1, 0], [1, 1, 1, 1]]
    assert torch.equal(damaged.inputs["pixel_mask"], given["pixel_mask"])
    assert bool((given["attention_mask"] == 1).all())


def test_a_control_passes_by_the_tolerance_of_its_output():
    model, given = torch.nn.Module(), {"x": torch.ones(1)}
    known = tolerances.Tolerance(1e-3, {"y": (1e-6, 1e-6)})
    answers = iter([{"y": torch.tensor([1.0, 1.0003])}, {"y": torch.tensor([1.0, 1.0001])}])
    reference = {"y": torch.ones(2)}
    seen = [
        control.measure(model, "other-input", lambda _: next(answers), given, lambda: given, reference, known)
        for _ in range(2)
    ]
    assert [one.passed for one in seen] == [True, False]


def test_a_model_at_full_size_loses_its_last_block():
    model = building.build(torch_recipes.LLAMA, torch.float32, 0).model
    assert control.lasting(model) == "last-attention"
    (weight,) = damages.last(model, "zero-attention")
    assert weight is model.model.layers[-1].self_attn.o_proj.weight
    assert control.lasting(torch.nn.Linear(2, 2)) == ""

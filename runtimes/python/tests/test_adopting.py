"""Recipes of another release: what still holds, and what does not."""

import copy

import pytest

from assay_runner.subjects.recipes import adopting, making


@pytest.fixture(scope="module")
def bert():
    return making.tiny("bert")


def test_a_recipe_that_holds(bert):
    assert adopting.holds(bert)


@pytest.mark.parametrize(
    "change",
    [
        lambda r: r["config"].update(hidden_size=65),  # not divisible by the heads
        # forward takes any name and never looks at this one
        lambda r: r["inputs"].append({"name": "renamed", "kind": "float", "dtype": "float32", "shape": ["batch"]}),
        lambda r: r["inputs"][0].update(high=100_000, low=90_000),  # words beyond the vocabulary
        lambda r: r.update({"class": "BertForNothing"}),
    ],
)
def test_one_that_does_not(bert, change):
    recipe = copy.deepcopy(bert)
    change(recipe)
    assert not adopting.holds(recipe)

"""How far outputs may be off: what the model's own rounding says, and never more than the table."""

import pytest
import torch
import torch_recipes

from assay_runner.checking import further, narrower, tolerances
from assay_runner.checking.further import Further
from assay_runner.checking.tolerances import FACTOR, TABLE, Tolerance
from assay_runner.subjects.samples import Sample

BERT = {**torch_recipes.BERT, "rounding": {"fp32": {"logits": [4e-7, 5e-7]}, "fp16": {"logits": [1e-3, 2e-3]}}}
EPS = torch.finfo(torch.float32).eps


def test_twenty_times_rounding_and_never_more_than_the_table():
    assert tolerances.of_cell(BERT, {}, "fp32").of("logits") == pytest.approx(8e-6)
    assert tolerances.of_cell(BERT, {}, "fp16").of("logits") == TABLE["fp16"], "twenty times 1e-3 is beyond it"
    assert tolerances.of_cell(BERT, {}, "bf16").of("logits") == TABLE["bf16"], "of which the recipe knows nothing"
    assert tolerances.of_cell(BERT, {}, "fp32").of("another") == TABLE["fp32"]


def test_no_rounding_is_less_than_that_of_float32():
    exact = Tolerance(1e-3, {"y": (0.0, 0.0)})
    assert exact.of("y") == exact.of_row("y") == FACTOR * EPS


def test_what_the_recipe_knows_comes_first():
    limit = tolerances.of_cell(BERT, {}, "fp32").knowing(
        {"logits": (1e-9, 1e-9), "other": (1e-6, 2e-6), "far": (1.0, 1.0)}
    )
    assert limit.of("logits") == pytest.approx(8e-6)
    assert (limit.of("other"), limit.of_row("other")) == (pytest.approx(2e-5), pytest.approx(4e-5))
    assert limit.of("far") == TABLE["fp32"], "which nothing widens"


def test_a_sensitive_sample_may_be_off_by_more():
    known = tolerances.of_cell(BERT, {}, "fp32")
    assert known.moved(1e-5).of("logits") == pytest.approx(4e-5)
    assert known.moved(4e-4).of("logits") == TABLE["fp32"]
    assert known.moved(0.0).of("logits") == known.of("logits")


def test_a_sample_that_is_too_sensitive_still_shows_what_is_plainly_wrong():
    half = tolerances.of_cell(BERT, {}, "fp16")
    assert half.moved(4e-3).of("logits") == TABLE["fp16"]
    assert half.moved(2e-2).of("logits") == pytest.approx(0.16)
    rows = [Further(Sample("x", {}), {}, {"fp16": moved, "fp32": moved}) for moved in (2e-2, 0.1)]
    assert [row.unfit("fp16", TABLE["fp16"]) for row in rows] == ["", "too sensitive to rounding for fp16"]
    assert rows[0].unfit("fp32", TABLE["fp32"]).endswith("ties")


def test_what_is_known_is_of_the_tiny_model_alone():
    assert tolerances.of_cell({**BERT, "size": "full"}, {"size": "full"}, "fp32").of("logits") == TABLE["fp32"]


@pytest.mark.parametrize("row", tolerances.WIDER, ids=lambda row: row.type)
def test_wider_rows_are_for_one_kind_of_cell(row):
    assert row.reason and row.tolerance > TABLE[row.dtype]
    most = tolerances.most
    assert most(row.type, row.size, row.weights, row.dtype, row.engine) == row.tolerance
    usual, other = TABLE[row.dtype], {"full": "tiny", "tiny": "full"}[row.size]
    assert most(row.type, other, row.weights, row.dtype, row.engine) == usual
    assert most(row.type, row.size, "hub", row.dtype, row.engine) == usual
    assert most(row.type, row.size, row.weights, row.dtype, "another") == usual


def numbers(error, passed=False):
    return {"max_rel": error, "output": "logits", "pass": passed}


@pytest.mark.parametrize(
    ("error", "dtype", "named"),
    [
        (4e-4, "fp32", "TF32 or fp16"),
        (1e-6, "fp32", None),
        (5e-5, "fp32", None),
        (2e-3, "fp32", None),
        (None, "fp32", None),
        (4e-4, "bf16", None),
    ],
    ids=["as half precision", "as float32", "too little for half", "beyond the table", "not a number", "asked for"],
)
def test_what_computes_in_less_is_named(error, dtype, named):
    told = narrower.named(numbers(error), BERT, dtype)
    assert told.get("precision") == named
    assert told["pass"] is (named is not None)


def test_a_row_that_is_wrong_is_not_excused_by_a_precision():
    off = numbers(4e-4) | {"rows": {"max_rel": 0.1, "tolerance": 1e-5, "cosine": 0.995}}
    assert not narrower.named(off, BERT, "fp32")["pass"]
    near = numbers(4e-4) | {"rows": {"max_rel": 1e-3, "tolerance": 1e-5, "cosine": 1.0}}
    assert narrower.named(near, BERT, "fp32")["precision"] == "TF32 or fp16"


def test_a_first_sample_that_is_wrong_is_not_hidden_by_another():
    """Which would be as far off as half precision is, and the first plainly wrong."""
    first = numbers(0.5) | {"margin": 0.01, "rows": None}
    other = {"name": "padded", "max_rel": 4e-4, "tolerance": 1e-5, "pass": False, "output": "logits"}
    told = narrower.named(further.judged(first, [other], []), BERT, "fp32")
    assert (told["max_rel"], told["pass"], told.get("sample")) == (0.5, False, None)
    told = further.judged(first, [other | {"max_rel": 0.9}], [])
    assert (told["max_rel"], told["pass"], told.get("sample")) == (0.5, False, None)
    right = numbers(1e-6, passed=True) | {"margin": 8.0, "rows": {"max_rel": 1e-6, "tolerance": 1e-5, "cosine": 1.0}}
    told = further.judged(right, [other], [])
    assert (told["max_rel"], told["sample"], told["margin"], told["rows"]) == (4e-4, "padded", None, None)


@pytest.mark.parametrize(
    ("point", "seed", "known"),
    [({"batch": 1}, 0, True), ({}, 0, True), ({"batch": 2}, 0, False), ({"batch": 1}, 3, False)],
)
def test_a_recipe_knows_the_rounding_of_its_own_call_only(point, seed, known):
    recipe = {"size": "tiny", "sizes": {"seq": 16}}
    assert tolerances.measured(recipe, point, seed) is known
    assert not tolerances.measured(recipe, {"batch": 1, "seq": 32}, 0)


@pytest.mark.parametrize(
    ("moves", "allowed"), [({}, 2e-5), ({"fp16": 1.0}, 2e-5), ({"fp32": 1e-4}, 4e-4), ({"fp32": 9}, 1e-3)]
)
def test_a_first_sample_of_another_call_may_be_off_by_what_roundings_move_it(moves, allowed):
    own = Tolerance(1e-3, {"y": (1e-6, 1e-6)})
    assert own.moved_at(moves, "fp32").of("y") == pytest.approx(allowed)


def test_what_roundings_alone_do_shows_nothing():
    limit = Tolerance(1e-3)
    assert limit.unsettled(0.4, 1e-5) == "", "steady: it is wrong"
    assert limit.unsettled(0.4, 6e-4) == "", "far more than roundings do"
    assert limit.unsettled(None, 6e-4) == "", "without bound"
    assert "0.3 of their largest value" in limit.unsettled(0.4, 0.3)

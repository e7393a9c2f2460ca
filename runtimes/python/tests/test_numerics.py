import math

import pytest
import torch

from assay_runner.checking import numerics
from assay_runner.subjects import outputs


def t(*values):
    return torch.tensor(values)


def test_the_worst_output_counts():
    result = numerics.compare({"a": t(1.0, 2.0), "b": t(10.0, 9.0)}, {"a": t(1.0, 2.02), "b": t(10.0, 9.9)})
    assert result.output == "b"
    assert result.max_abs == pytest.approx(0.9, rel=1e-5)
    assert result.max_rel == pytest.approx(0.09, rel=1e-5)


@pytest.mark.parametrize(
    ("actual", "reference"),
    [
        ({}, {"a": t(1.0)}),
        ({"a": t(1.0, 2.0)}, {"a": t(1.0)}),
        ({"a": t(math.nan, 1.0)}, {"a": t(1.0, 1.0)}),
        ({"a": t(math.inf, 1.0)}, {"a": t(1.0, 1.0)}),
        ({"a": t(1.0, 1.0)}, {"a": t(math.nan, 1.0)}),
        ({"a": t(1e-3)}, {"a": t(0.0)}),
    ],
)
def test_what_cannot_be_compared_fails(actual, reference):
    report = numerics.compare(actual, reference).report(1e9, "x")
    assert not report["pass"]
    assert report["max_rel"] is None


def test_equal_infinities_are_masks():
    masked = {"a": t(-math.inf, 1.0)}
    assert numerics.compare(masked, {"a": t(-math.inf, 1.0)}).max_rel == 0
    assert numerics.finite(masked, {"a": t(-math.inf, 1.0)})
    assert not numerics.finite(masked, {"a": t(1.0, 1.0)})
    assert not numerics.finite(masked, None)
    assert not numerics.finite({"a": t(math.nan)}, {"a": t(math.nan)})


def test_whole_numbers_decide_only_alone():
    with_floats = numerics.compare({"a": t(1.0), "i": t(1, 2)}, {"a": t(1.0), "i": t(1, 3)})
    assert with_floats.max_rel == 0
    assert with_floats.exact == {"i": 0.5}
    alone = numerics.compare({"i": t(1, 2)}, {"i": t(1, 3)})
    assert alone.max_rel == pytest.approx(0.5)


@pytest.mark.parametrize("nothing", [{}, {"a": torch.empty(0)}, {"i": torch.empty(0, dtype=torch.int64)}])
def test_a_comparison_of_nothing_does_not_pass(nothing):
    report = numerics.compare(nothing, nothing).report(1e-3, "x")
    assert not report["pass"]
    assert report["output"] == ""


def test_a_part_without_elements_decides_nothing():
    both = {"a": torch.empty(0), "b": t(1.0)}
    assert numerics.compare(both, both).report(1e-3, "x")["pass"]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
def test_masks_written_as_the_last_number_are_no_scale(dtype):
    low = torch.finfo(dtype).min
    reference = {"a": t(torch.finfo(torch.float32).min, 1.0)}
    right, wrong = (torch.tensor([low, x], dtype=dtype) for x in (1.0, 1.5))
    assert numerics.compare({"a": right}, reference).max_rel == 0
    assert numerics.compare({"a": wrong}, reference).max_rel == pytest.approx(0.5)
    unmasked = torch.tensor([1.0, 1.0], dtype=dtype)
    assert not numerics.compare({"a": unmasked}, reference).report(1e-2, "x")["pass"]
    assert not numerics.compare({"a": -right}, reference).report(1e-2, "x")["pass"]


def test_tolerances():
    assert [numerics.tolerance("bert", "tiny", "random", d) for d in ("fp32", "fp16", "bf16")] == [1e-3, 1e-2, 3e-2]
    assert all(row.reason and row.tolerance > numerics.TOLERANCE[row.dtype] for row in numerics.WIDER)


@pytest.mark.parametrize("row", numerics.WIDER, ids=lambda row: row.type)
def test_a_wider_tolerance_is_for_what_its_reason_says(row):
    assert numerics.tolerance(row.type, row.size, row.weights, row.dtype, row.engine) == row.tolerance
    usual, other = numerics.TOLERANCE[row.dtype], {"full": "tiny", "tiny": "full"}[row.size]
    assert numerics.tolerance(row.type, other, row.weights, row.dtype, row.engine) == usual
    assert numerics.tolerance(row.type, row.size, "hub", row.dtype, row.engine) == usual
    assert numerics.tolerance(row.type, row.size, row.weights, row.dtype, "another") == usual


def test_flatten_names_and_caches():
    nested = {"logits": t(1.0), "past_key_values": (t(2.0),), "hidden_states": (t(3.0), t(4.0)), "none": None, "n": 3}
    assert list(outputs.flatten(nested)) == ["logits", "hidden_states.0", "hidden_states.1"]
    assert list(outputs.flatten((t(1.0), [t(2.0)]))) == ["0", "1.0"]
    assert list(outputs.flatten(t(1.0))) == ["output"]


def test_constant_and_digest():
    assert outputs.constant({"a": t(2.0, 2.0)})
    assert not outputs.constant({"a": t(2.0, 2.1)})
    assert not outputs.constant({"loss": torch.tensor(1.0), "a": t(2.0, 2.1)})
    assert outputs.digest({"a": t(1.0)}) != outputs.digest({"a": t(1.5)})
    assert outputs.digest({"a": t(1.0)}) != outputs.digest({"b": t(1.0)})
    half = torch.ones(3, dtype=torch.bfloat16)
    assert outputs.digest({"a": half, "s": torch.tensor(1.0)}) == outputs.digest(
        {"a": half.clone(), "s": torch.tensor(1.0)}
    )

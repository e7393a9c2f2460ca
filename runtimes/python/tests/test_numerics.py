import math

import pytest
import torch

from assay_runner.checking import numerics
from assay_runner.checking.tolerances import Tolerance
from assay_runner.subjects import outputs


def t(*values):
    return torch.tensor(values)


def test_the_worst_output_counts():
    result = numerics.compare({"a": t(1.0, 2.0), "b": t(10.0, 9.0)}, {"a": t(1.0, 2.02), "b": t(10.0, 9.9)})
    assert result.output == "b"
    assert result.errors["b"].abs == pytest.approx(0.9, rel=1e-5)
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


def test_one_large_row_hides_nothing_in_the_others():
    reference = torch.rand(1, 3, 8, generator=torch.Generator().manual_seed(0))
    reference[0, 0] *= 20
    wrong = reference.clone()
    wrong[0, 2] += 0.01
    known = Tolerance(1e-3, {"a": (1e-4, 1e-6)})
    compared = numerics.compare({"a": wrong}, {"a": reference})
    assert compared.max_rel < known.of("a"), "beside the large row it is next to nothing"
    report = compared.report(known, "x")
    assert not report["pass"]
    assert report["rows"]["max_rel"] > report["rows"]["tolerance"]
    assert 0.9 < report["rows"]["cosine"] < 1
    assert numerics.compare({"a": wrong}, {"a": reference}).report(known.moved(0.0), "x")["pass"]


def test_each_output_has_its_own_tolerance():
    known = Tolerance(1e-3, {"exact": (1e-7, 1e-7), "rough": (4e-5, 4e-5)})
    right = {"exact": torch.ones(4), "rough": torch.ones(4)}
    rough = numerics.compare({"exact": torch.ones(4), "rough": torch.ones(4) + 1e-4}, right).report(known, "x")
    assert rough["pass"] and rough["output"] == "rough"
    assert rough["margin"] == pytest.approx(8, rel=0.01)
    exact = numerics.compare({"exact": torch.ones(4) + 1e-5, "rough": torch.ones(4) + 1e-4}, right).report(known, "x")
    assert not exact["pass"], "a tenth of the other's error is too much here"
    assert (exact["output"], exact["tolerance"]) == ("exact", pytest.approx(20 * 1.19e-7, rel=0.01))

"""Rewriting steps that spare engines what they get wrong, on small graphs written by hand."""

import numpy as np
import onnx_ir
import onnxruntime
import pytest
from step_graphs import after, graph

from assay_runner.exporting import steps, writing
from assay_runner.exporting.steps import comparisons, equalities, pools


@pytest.mark.parametrize(
    ("said", "count", "operators"),
    [
        ("q = Div(x, n) z = Greater(q, x)", 1, {"Div": 1, "Less": 1}),
        ("q = Div(x, n) z = GreaterOrEqual(x, q)", 1, {"Div": 1, "LessOrEqual": 1}),
        ("q = Div(x, n) z = Less(q, x)", 0, {"Div": 1, "Less": 1}),
        ("q = Mul(x, n) z = Greater(q, x)", 0, {"Greater": 1, "Mul": 1}),
    ],
)
def test_comparisons_of_quotients_are_turned_round(said, count, operators):
    model = graph(f"g (float[3, 4] x) => (bool[3, 4] z) {{ {said} }}", n=np.float32([0, 0.5, 1, 2]))
    assert after(model, comparisons.turn, count) == operators


@pytest.mark.parametrize(
    ("said", "count", "operators"),
    [
        ("z = Equal(x, yes)", 1, {"Identity": 1}),
        ("z = Equal(no, x)", 1, {"Not": 1}),
        ("z = Equal(x, row)", 1, {"Cast": 2, "Equal": 1}),
        ("n = Not(x) z = Equal(n, w)", 1, {"Not": 1, "Cast": 2, "Equal": 1}),
        ("n = Cast<to = 6>(x) z = Equal(n, one)", 0, {"Cast": 1, "Equal": 1}),
    ],
)
def test_truth_values_are_compared_as_numbers(said, count, operators):
    constants = {"yes": True, "no": False, "one": np.int32(1), "row": np.array([True, False, False, True])}
    model = graph(f"g (bool[3, 4] x, bool[3, 4] w) => (bool[3, 4] z) {{ {said} }}", **constants)
    assert after(model, equalities.compare_numbers, count) == operators


def test_one_truth_value_is_compared_with_many_as_numbers():
    model = graph("g (bool[1] x) => (bool[2, 1] z) { z = Equal(x, yes) }", yes=np.full((2, 1), True))
    assert after(model, equalities.compare_numbers, 1) == {"Cast": 2, "Equal": 1}


def padded(value="", before="", pool="MaxPool<kernel_shape = [3, 3], strides = [2, 2]>"):
    """A pool over a padded picture."""
    text = f"x = {before}(given) y = Pad(x, p{value}) z = {pool}(y)"
    pads, zero, one = np.int64([0, 0, 1, 0, 0, 0, 2, 1]), np.float32(0), np.float32(1)
    return graph(f"g (float[1, 2, 4, 6] given) => (float[1, 2, 3, 3] z) {{ {text} }}", p=pads, zero=zero, one=one)


@pytest.mark.parametrize("value", ["", ", zero"])
def test_zeros_before_pools_are_joined(value):
    model = padded(value, before="Neg")
    assert pools.join_zeros(model) == 1
    steps.apply(model)
    assert writing.operators(model) == {"Neg": 1, "Concat": 2, "MaxPool": 1}
    given = np.ones((1, 2, 4, 6), np.float32)
    [found] = onnxruntime.InferenceSession(onnx_ir.to_proto(model).SerializeToString()).run(None, {"given": given})
    expected = np.zeros((1, 2, 3, 3), np.float32)
    expected[:, :, 1, :2] = -1  # the windows that lie over the picture alone
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize(
    "how",
    [
        {"value": ", one", "before": "Neg"},
        {"before": "Relu"},
        {"before": "Neg", "pool": "AveragePool<kernel_shape = [3, 3], strides = [2, 2]>"},
    ],
)
def test_other_pads_before_pools_stay(how):
    assert pools.join_zeros(padded(**how)) == 0

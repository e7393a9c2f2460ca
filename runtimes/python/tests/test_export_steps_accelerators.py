"""Steps for accelerators that lack an operator or need shapes, on small graphs, before and after by ONNX Runtime."""

import numpy as np
import onnx_ir
import onnxruntime
import pytest
from step_graphs import after, graph, run

from assay_runner.engines.web import gelus, ranks
from assay_runner.exporting import writing
from assay_runner.exporting.steps import groups, scatters

MATRICES = {f"w{i}": np.random.default_rng(i).normal(size=(4, 3)).astype(np.float32) for i in range(3)}
GROUPED = """g (float[6, 4] x) => (float[6, 3] y) {
    ends = CumSum(counts, zero)
    a = Slice(ends, at0, at1, at0) b = Slice(ends, at1, at2, at0)
    x0 = Slice(x, at0, a, at0) x1 = Slice(x, a, b, at0) x2 = Slice(x, b, all, at0)
    p0 = MatMul(x0, w0) p1 = MatMul(x1, w1) p2 = MatMul(x2, w2)
    y = Concat<axis=0>(p0, p1, p2)
}"""
PLACES = {f"at{i}": np.int64([i]) for i in range(3)} | {"all": np.int64([6]), "zero": np.int64(0)}


@pytest.mark.parametrize("counts", [(1, 2, 3), (0, 6, 0), (3, 0, 3), (0, 0, 6), (2, 4, 0)])
def test_each_row_has_the_product_by_its_own_expert(counts):
    operators = after(graph(GROUPED, counts=np.int64(counts), **MATRICES, **PLACES), groups.over_all_rows, 1)
    assert operators["MatMul"] == 3
    assert operators["Where"] == 2
    assert operators["Slice"] == 2  # of where groups end; the rows are not cut any more
    assert "Concat" not in operators


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("x1 = Slice(x, a, b, at0)", "x1 = Slice(x, at0, b, at0)"),  # rows twice
        ("x0 = Slice(x, at0, a, at0)", "x0 = Slice(x, at1, a, at0)"),  # not from the first row on
        ("p1 = MatMul(x1, w1)", "p1 = Slice(x1, at0, at2, at1)"),  # no product
        ("x2 = Slice(x, b, all, at0)", "t = Neg(x) x2 = Slice(t, b, all, at0)"),  # of other rows
    ],
)
def test_what_is_no_grouped_product_stays(old, new):
    assert old in GROUPED
    model = graph(GROUPED.replace(old, new), counts=np.int64([1, 2, 3]), **MATRICES, **PLACES)
    before = writing.operators(model)
    assert groups.over_all_rows(model) == 0
    assert writing.operators(model) == before


@pytest.mark.parametrize("kind", ["float", "int64", "int32"])
@pytest.mark.parametrize("largest", [0, 1])
@pytest.mark.parametrize("kept", [1, 3, 5])
def test_the_largest_are_found_by_counting(kind, largest, kept):
    """Whole numbers are drawn from three, so that there are ties."""
    text = f"""g ({kind}[2, 4, 5] x) => ({kind}[2, 4, {kept}] y, int64[2, 4, {kept}] i) {{
        v, j = TopK<largest={largest}>(x, k) y = Abs(v) i = Add(j, none)
    }}"""
    model = graph(text, k=np.int64([kept]), none=np.int64(0))
    assert "TopK" not in after(model, ranks.count, 1)


def test_infinite_numbers_are_ranked_too():
    text = "g (float[5] x) => (float[3] y, int64[3] i) { v, j = TopK(x, k) y = Identity(v) i = Identity(j) }"
    given = {"x": np.float32([-np.inf, 2, np.inf, -np.inf, 2])}
    model = graph(text, k=np.int64([3]))

    def found():
        return onnxruntime.InferenceSession(onnx_ir.to_proto(model).SerializeToString()).run(None, given)

    before = found()
    assert ranks.count(model) == 1
    for old, new in zip(before, found(), strict=True):
        np.testing.assert_array_equal(new, old)


@pytest.mark.parametrize("kept", ["too many to compare", "another axis", "an output"])
def test_what_counting_does_not_suit_stays_sorted(kept):
    size, axis = (4096, -1) if kept == "too many to compare" else (8, 0 if kept == "another axis" else -1)
    sort = f"TopK<axis={axis}>(x, k)"
    body = f"y, i = {sort}" if kept == "an output" else f"v, j = {sort} y = Abs(v) i = Identity(j)"
    text = f"g (float[2, {size}] x) => (float[a, b] y, int64[a, b] i) {{ {body} }}"
    assert after(graph(text, k=np.int64([2])), ranks.count, 0)["TopK"] == 1


def test_the_approximate_gelu_is_written_out_and_the_exact_one_stays():
    text = 'g (float[3, 64] x) => (float[3, 64] y, float[3, 64] z) { y = Gelu<approximate="tanh">(x) z = Gelu(x) }'
    assert after(graph(text), gelus.written_out, 1) == {"Gelu": 1, "Mul": 4, "Add": 1, "Sigmoid": 1}


def test_truth_values_are_scattered_as_numbers():
    text = """g (bool[2, 4] x, bool[2, 2] new, int64[2, 1] at) => (bool[2, 4] y) {
        next = Add(at, one) both = Concat<axis=1>(at, next) y = ScatterElements<axis=1>(x, both, new)
    }"""
    model = graph(text, one=np.int64(1))
    before = run(model)[0]
    assert before.any() and not before.all()
    assert "ScatterElements" not in after(model, scatters.by_comparing, 1)

"""Operators of many axes, which the HTP does not take: what they become it takes, with the same numbers."""

import numpy as np
import onnx
import onnx_ir
import pytest
from qnn_graphs import EMULATED, Case, built, feeds, near, on_cpu, on_htp

from assay_runner.engines.qnn import rewrites
from assay_runner.exporting.steps import fewer_axes

FEW = next(step.apply for step in rewrites.STEPS if step.name == "operators of few axes")
SIX, FIVE = "1, 2, 3, 4, 2, 5", "2, 3, 2, 4, 5"


def case(name, said, after=SIX, before=SIX, count=1, **constants):
    """Operators that take `x` and give `y`, of many axes inside only: the HTP neither takes nor gives those."""
    shapes = [np.array([int(n) for n in shape.split(",")]) for shape in (before, after)]
    text = f"""g (float[{shapes[0].prod()}] flat) => (float[{shapes[1].prod()}] found) {{
        x = Reshape(flat, form) {said} found = Reshape(y, back)
    }}"""
    return Case(name, FEW, count, text, constants | {"form": shapes[0], "back": np.array([-1])})


ZERO, LAST, PLACES = np.float32(0), np.array([-1]), np.array([[0, 3, 1], [2, 2, -1]])
CASES = [
    *(case(f"{name} of five", f"y = {name}(x)", FIVE, FIVE) for name in ("Tanh", "Neg", "Sin", "Cos", "Floor")),
    *(case(f"{name} of six", f"y = {name}(x)") for name in ("Tanh", "Exp", "Sigmoid", "Abs", "Gelu", "Relu")),
    case("sums of five", "y = CumSum(x, a)", FIVE, FIVE, a=np.int64(-2)),
    case("sums of six", "y = CumSum<reverse = 0>(x, a)", a=np.int64(3)),
    case("softmax", "y = Softmax<axis = 2>(x)"),
    case("limits", "y = Clip(x, o)", o=ZERO),
    case("larger ones", "y = Max(x, c)", FIVE, FIVE, c=np.full((3, 1, 4, 5), 0.3, np.float32)),
    case("a row for all", "y = Add(x, c)", c=np.arange(5, dtype=np.float32)),
    case("some for some", "y = Mul(x, c)", c=np.linspace(-1, 1, 24, dtype=np.float32).reshape(2, 3, 4, 1, 1)),
    case("one of all", "y = Sub(c, x)", c=np.float32(2)),
    case("choices", "a = Greater(x, o) y = Where(a, x, c)", count=2, o=ZERO, c=np.full((4, 2, 1), 2, np.float32)),
    case("largest of the last", "y = ReduceMax(x, a)", "1, 2, 3, 4, 2, 1", a=LAST),
    case("largest without its axis", "y = ReduceMax<keepdims = 0>(x, a)", "1, 2, 3, 4, 2", a=LAST),
    case("sums over neighbours", "y = ReduceSum(x, a)", "1, 2, 1, 1, 2, 5", a=np.array([3, 2])),
    case("some places", "y = Gather<axis = 3>(x, i)", "1, 2, 3, 2, 2, 5", i=np.array([2, 0])),
    case("one place", "y = Gather<axis = -1>(x, i)", "1, 2, 3, 4, 2", i=np.array(3)),
    case(
        "parts of two axes",
        "y = Slice(x, b, e, a, s)",
        "1, 2, 3, 2, 2, 2",
        b=np.array([1, 4]),
        e=np.array([3, 0]),
        a=np.array([3, -1]),
        s=np.array([1, -2]),
    ),
    case("neighbours turned", "y = Transpose<perm = [0, 3, 4, 1, 2, 5]>(x)", "1, 4, 2, 2, 3, 5"),
    case("all turned but one", "y = Transpose<perm = [0, 5, 1, 4, 2, 3]>(x)", "1, 5, 2, 2, 3, 4"),
    case("none stays", "y = Transpose<perm = [1, 3, 5, 0, 2, 4]>(x)", "3, 2, 3, 2, 2, 2", "2, 3, 2, 2, 2, 3"),
    case("ones turned", "y = Transpose<perm = [1, 0, 2, 3, 4, 5]>(x)", "2, 1, 3, 4, 2, 5"),
    case("a table of places", "y = Gather<axis = 2>(x, i)", "2, 3, 2, 3, 5, 2", "2, 3, 4, 5, 2", i=PLACES),
    case("five to spread over", "y = Add(x, c)", "2, 2, 2, 2, 2, 2", "2, 2, 2, 2, 2, 2", c=np.eye(2, dtype=np.float32)
         .reshape(2, 1, 2, 1, 1, 1)),
    case("one axis more", "a = Unsqueeze(x, t) y = Relu(a)", "1, 2, 3, 4, 1, 5", "1, 2, 3, 4, 5", 2, t=np.array([4])),
    case("one axis less", "a = Relu(x) y = Squeeze(a, t)", "2, 3, 4, 2, 5", count=2, t=np.array([0])),
    case("spread", "a = Unsqueeze(x, t) y = Expand(a, n)", "2, 3, 4, 2, 6, 5", "2, 3, 4, 2, 5", 2, t=np.array([4]),
         n=np.array([2, 3, 4, 2, 6, 5])),
    case("five that it takes", "y = Exp(x)", FIVE, FIVE, 0),
    case("neither alike nor ones", "y = Add(x, c)", "2, 2, 2, 2, 2, 2", "2, 2, 2, 2, 2, 2", 0,
         c=np.ones((2, 1, 2, 1, 2, 1), np.float32)),
    case("sums over others", "y = ReduceSum(x, a)", "1, 1, 3, 1, 2, 5", a=np.array([3, 1])),
]  # fmt: skip


def rewritten(made):
    model = onnx_ir.from_proto(built(made))
    return FEW(model), onnx_ir.to_proto(model)


@pytest.mark.parametrize("made", CASES, ids=lambda made: made.name)
def test_few_axes_give_the_same(made):
    count, after = rewritten(made)
    given = feeds(after, 1.0)
    assert count == made.count
    onnx.checker.check_model(after, full_check=True)
    np.testing.assert_allclose(on_cpu(after, given), on_cpu(built(made), given), rtol=1e-5, atol=1e-6)


@pytest.mark.skipif(not EMULATED, reason="Qualcomm's emulator is for Linux on x86-64")
@pytest.mark.parametrize("made", [made for made in CASES if made.count], ids=lambda made: made.name)
def test_the_emulator_takes_few_axes(made):
    _, after = rewritten(made)
    given = feeds(after, 1.0)
    assert near(on_htp(after, given), on_cpu(built(made), given))


@pytest.mark.parametrize(
    ("shapes", "found"),
    [
        ([(2, 3, 4), (2, 3, 4)], [[24], [24]]),
        ([(2, 3, 4), (4,)], [[6, 4], [1, 4]]),
        ([(1, 2, 1, 3), (3,)], [[2, 3], [1, 3]]),
        ([(2, 3, 1, 5), (1, 1, 4, 5)], [[6, 1, 5], [1, 4, 5]]),
        ([(1, 1), ()], [[1], [1]]),
    ],
)
def test_axes_that_are_spread_alike_are_joined(shapes, found):
    assert fewer_axes.merged(shapes) == found

"""Truth values in graphs for browsers: they are compared, and never cast."""

from __future__ import annotations

import numpy as np
import onnx_ir
import pytest
from test_engine_web import ran, typed

from assay_runner.engines.web import rewrites

_BOOL, _FLOAT = onnx_ir.DataType.BOOL, onnx_ir.DataType.FLOAT
NUMBERS = {
    "float": np.float32([0.0, -0.0, 0.5, -3.4e38, 1.0, np.nan]),
    "int64": np.int64([0, 1, -1, 256, 2, 1 << 20]),
}


@pytest.mark.parametrize("kind", NUMBERS)
def test_numbers_become_truth_values_by_comparing(kind: str) -> None:
    made = typed(
        f"""<ir_version: 10, opset_import: ["" : 20]>
        g ({kind}[6] x) => (float[6] y) {{ b = Cast <to: int = 9> (x) y = Cast <to: int = 1> (b) }}""",
        {"b": ([6], _BOOL), "y": ([6], _FLOAT)},
    )
    feeds = {"x": NUMBERS[kind]}
    before = ran(made, feeds)[0]
    assert "truth values by comparing" in [step["name"] for step in rewrites.apply(made)]
    assert not [node for node in made.graph if node.op_type == "Cast" and node.outputs[0].dtype == _BOOL]
    np.testing.assert_array_equal(ran(made, feeds)[0], before)
    assert before.tolist() == [float(bool(number)) for number in NUMBERS[kind]]


def test_truth_values_are_chosen_by_logic() -> None:
    made = typed(
        """<ir_version: 10, opset_import: ["" : 20]>
        g (float[8] x, float[8] a, float[2,8] b) => (float[2,8] y) {
            c = Greater (x, half) d = Greater (a, half) e = Greater (b, half)
            w = Where (c, d, e) y = Where (w, one, none)
        }""",
        {"c": ([8], _BOOL), "d": ([8], _BOOL), "e": ([2, 8], _BOOL), "w": ([2, 8], _BOOL), "y": ([2, 8], _FLOAT)},
        half=np.float32(0.5),
        one=np.float32(1),
        none=np.float32(0),
    )
    draw = np.random.default_rng(2)
    feeds = {"x": draw.random(8), "a": draw.random(8), "b": draw.random((2, 8))}
    expected = np.where(feeds["x"] > 0.5, feeds["a"] > 0.5, feeds["b"] > 0.5)
    assert "truth values chosen by logic" in [step["name"] for step in rewrites.apply(made)]
    assert [node.outputs[0].dtype for node in made.graph if node.op_type == "Where"] == [_FLOAT]
    np.testing.assert_array_equal(ran(made, feeds)[0], expected)


def test_conjunctions_of_different_shapes_are_products() -> None:
    made = typed(
        """<ir_version: 10, opset_import: ["" : 20]>
        g (float[2,1,4] x, float[3,1] a, float[2,3,4] b) => (float[2,3,4] y) {
            c = Greater (x, half) d = Greater (a, half) e = Greater (b, half)
            f = And (c, d) g = And (f, e) y = Where (g, one, none)
        }""",
        {
            **{"c": ([2, 1, 4], _BOOL), "d": ([3, 1], _BOOL), "e": ([2, 3, 4], _BOOL)},
            **{"f": ([2, 3, 4], _BOOL), "g": ([2, 3, 4], _BOOL), "y": ([2, 3, 4], _FLOAT)},
        },
        half=np.float32(0.5),
        one=np.float32(1),
        none=np.float32(0),
    )
    draw = np.random.default_rng(3)
    feeds = {"x": draw.random((2, 1, 4)), "a": draw.random((3, 1)), "b": draw.random((2, 3, 4))}
    expected = (feeds["x"] > 0.5) & (feeds["a"] > 0.5) & (feeds["b"] > 0.5)
    assert "truth values multiplied" in [step["name"] for step in rewrites.apply(made)]
    assert sum(node.op_type == "And" for node in made.graph) == 1, "of equal shapes it stays what it is"
    np.testing.assert_array_equal(ran(made, feeds)[0], expected)

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

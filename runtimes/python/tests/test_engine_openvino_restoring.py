"""A blob is compared with the model that it was made of."""

from __future__ import annotations

import numpy as np
import pytest

ov = pytest.importorskip("openvino")

from openvino import opset13 as ops  # noqa: E402

from assay_runner.engines.openvino.restoring import same  # noqa: E402

FEEDS = {
    "x": np.arange(6, dtype=np.float32).reshape(2, 3),
    "ids": np.ones((2, 3), np.int64),
    "attention_mask": np.ones((2, 3), np.int64),
    "an input that the graph does without": np.ones(1, np.float32),
}


def compiled(add: float, rows: int = 2):
    """x + ids + add, with a mask; of this many rows."""
    lengths = ov.PartialShape([2, 3])
    x = ops.parameter(lengths, np.float32, name="x")
    ids, mask = (ops.parameter(lengths, np.int64, name=name) for name in ("ids", "attention_mask"))
    for port, name in ((x, "x"), (ids, "ids"), (mask, "attention_mask")):
        port.output(0).set_names({name})
    shown = ops.divide(ops.add(x, ops.convert(ids, "f32")), ops.convert(mask, "f32"))
    shown = ops.slice(shown, [0], [rows], [1], [0])
    model = ov.Model([ops.add(shown, np.float32(add))], [x, ids, mask])
    return ov.Core().compile_model(model, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})


@pytest.mark.parametrize(
    ("restored", "expected"),
    [
        pytest.param(lambda: compiled(1.0), True, id="the same"),
        pytest.param(lambda: compiled(1.0 + 1e-6), True, id="the same but for rounding"),
        pytest.param(lambda: compiled(2.0), False, id="other numbers"),
        pytest.param(lambda: compiled(float("nan")), False, id="no numbers"),
        pytest.param(lambda: compiled(1.0, rows=1), False, id="another shape"),
        pytest.param(lambda: None, False, id="refused"),
    ],
)
def test_same(restored, expected) -> None:
    """What computes something else, or nothing, is not the same."""
    assert same(compiled(1.0), restored(), FEEDS) is expected

"""The dtypes of the web platforms: what they do to a graph, and who has them."""

from __future__ import annotations

import numpy as np
import onnx_ir
import onnxruntime
import pytest

from assay_runner.engines.web import dtypes
from assay_runner.errors import UnsupportedDType

LAYERS = """
<ir_version: 10, opset_import: ["" : 20]>
layers (float[4,64] x) => (float[4,64] y)
{
   a = MatMul (x, w0)
   b = Relu (a)
   c = MatMul (b, w1)
   d = Tanh (c)
   y = MatMul (d, w2)
}
"""


def layers() -> onnx_ir.Model:
    made, random = onnx_ir.from_onnx_text(LAYERS), np.random.default_rng(0)
    for name in ("w0", "w1", "w2"):
        value = next(v for node in made.graph for v in node.inputs if v.name == name)
        value.const_value = onnx_ir.tensor(random.standard_normal((64, 64), np.float32) / 8, name=name)
        value.dtype, value.shape = value.const_value.dtype, value.const_value.shape
        made.graph.register_initializer(value)
    return made


def ran(made: onnx_ir.Model, x: np.ndarray) -> np.ndarray:
    session = onnxruntime.InferenceSession(
        onnx_ir.to_proto(made).SerializeToString(), providers=["CPUExecutionProvider"]
    )
    return session.run(None, {"x": x})[0]


def bits(made: onnx_ir.Model) -> list[int]:
    return [node.attributes.get_int("bits", 0) for node in made.graph if node.op_type == "MatMulNBits"]


@pytest.mark.parametrize(
    ("dtype", "worst", "kept"), [("fp32", 0.0, []), ("fp16", 1e-2, []), ("w8", 3e-2, [8, 8, 8]), ("w4", 0.2, [8, 4, 8])]
)
def test_a_dtype_keeps_the_numbers_as_far_as_its_bits_go(dtype: str, worst: float, kept: list[int]) -> None:
    x = np.random.default_rng(1).standard_normal((4, 64), np.float32)
    expected, made = ran(layers(), x), dtypes.convert(layers(), dtype)
    found = ran(made, x)
    error = np.abs(found - expected).max() / np.abs(expected).max()
    assert found.dtype == np.float32  # whatever is inside
    assert error <= worst
    assert error > 0 or dtype == "fp32"
    assert bits(made) == kept


def test_smaller_blocks_are_kept_more_exactly() -> None:
    x = np.random.default_rng(1).standard_normal((4, 64), np.float32)
    expected = ran(layers(), x)
    errors = {}
    for size in (16, 64):
        made = dtypes.convert(layers(), "w4", dtypes.Blocks(block_size=size))
        assert {n.attributes.get_int("block_size", 0) for n in made.graph if n.op_type == "MatMulNBits"} == {size}
        errors[size] = np.square(ran(made, x) - expected).sum()
    assert errors[16] < errors[64]
    rounded = dtypes.convert(layers(), "w8", dtypes.Blocks(accuracy_level=4))
    assert {n.attributes.get_int("accuracy_level", 0) for n in rounded.graph if n.op_type == "MatMulNBits"} == {4}


def test_weights_beside_a_graph_are_converted_too(tmp_path) -> None:
    onnx_ir.save(layers(), tmp_path / "model.onnx", external_data="model.onnx.data")
    x = np.random.default_rng(1).standard_normal((4, 64), np.float32)
    for dtype in ("fp16", "w8"):
        made = dtypes.convert(onnx_ir.load(tmp_path / "model.onnx"), dtype)
        np.testing.assert_array_equal(ran(made, x), ran(dtypes.convert(layers(), dtype), x))


@pytest.mark.parametrize(
    ("dtype", "platform", "features", "says"),
    [
        ("fp16", "webgpu", ["timestamp-query"], "no shader-f16"),
        ("fp16", "webnn", ["float32"], "no float16"),
        ("fp16", "cpu", [], "too few operators"),
        ("fp16", "webgpu", ["shader-f16"], None),
        ("w4", "webgpu", [], None),
        ("fp32", "cpu", [], None),
    ],
)
def test_a_platform_without_a_dtype_says_so(dtype: str, platform: str, features: list[str], says: str | None) -> None:
    if says is None:
        dtypes.confirm(dtype, platform, features)
        return
    with pytest.raises(UnsupportedDType, match=says):
        dtypes.confirm(dtype, platform, features)


def test_an_unknown_dtype_is_refused() -> None:
    with pytest.raises(UnsupportedDType, match="bf16: there are fp32, fp16, w8, w4"):
        dtypes.numbers("bf16")

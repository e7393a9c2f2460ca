"""Quantised models: what quantising lost is told apart from what the engine does with it."""

from __future__ import annotations

import numpy as np
import onnx_ir
import onnxruntime
import openvino as ov
import pytest
import torch_recipes
from openvino import opset13 as ops
from torch_emit import Emit, job

from assay_runner.engines.graphs import driver, quantised
from assay_runner.engines.openvino import compiled as running
from assay_runner.engines.openvino import dequantising as openvino
from assay_runner.engines.web import dequantising as web
from assay_runner.engines.web import dtypes
from assay_runner.exporting import comparison

OPENVINO = {"platform": "openvino", "device": "CPU", "engine": "openvino"}

PRODUCTS = """
<ir_version: 10, opset_import: ["" : 20]>
products (float[4,72] x) => (float[4,40] y)
{
   a = MatMul (x, w0)
   b = Relu (a)
   c = MatMul (b, w1)
   y = MatMul (c, w2)
}
"""
SHAPES = {"w0": (72, 48), "w1": (48, 64), "w2": (64, 40)}  # rows that fill no whole number of blocks


def products() -> onnx_ir.Model:
    made, random = onnx_ir.from_onnx_text(PRODUCTS), np.random.default_rng(0)
    for name, shape in SHAPES.items():
        value = next(v for node in made.graph for v in node.inputs if v.name == name)
        value.const_value = onnx_ir.tensor(random.standard_normal(shape, np.float32) / 8, name=name)
        value.dtype, value.shape = value.const_value.dtype, value.const_value.shape
        made.graph.register_initializer(value)
    return made


@pytest.mark.parametrize(
    ("bits", "packed", "numbers"),
    [
        (8, [0, 127, 255], [0, 127, 255]),
        (4, [0x21, 0xF0], [1, 2, 0, 15]),
        (2, [0b11_10_01_00], [0, 1, 2, 3]),
    ],
)
def test_numbers_of_few_bits_are_unpacked_the_lower_ones_first(bits, packed, numbers) -> None:
    assert web.unpacked(np.array(packed, np.uint8), bits).tolist() == numbers


@pytest.mark.parametrize("dtype", ["w8", "w4"])
@pytest.mark.parametrize("block", [16, 32])
def test_packed_weights_widened_are_what_the_packed_product_computes(tmp_path, dtype, block) -> None:
    x = np.random.default_rng(1).standard_normal((4, 72), np.float32)
    graph = tmp_path / "packed.onnx"
    onnx_ir.save(dtypes.convert(products(), dtype, dtypes.Blocks(block)), graph)
    session = onnxruntime.InferenceSession(graph, providers=["CPUExecutionProvider"])
    expected = session.run(None, {"x": x})[0]
    widened = web.widened(graph, tmp_path)
    operators = [node.op_type for node in onnx_ir.load(widened).graph]
    assert operators.count("MatMul") == 3
    assert web.PACKED not in operators
    found = comparison.Graph(widened, ["given"], optimised=False).arrays({"x": x})["given"]
    np.testing.assert_allclose(found, expected, atol=2e-6 * np.abs(expected).max())


def test_a_graph_takes_inputs_of_the_types_that_it_has(tmp_path) -> None:
    onnx_ir.save(products(), tmp_path / "plain.onnx")
    x = np.random.default_rng(1).standard_normal((4, 72))
    run = comparison.Graph(tmp_path / "plain.onnx", ["y"], optimised=False).arrays
    np.testing.assert_array_equal(run({"x": x, "more": x})["y"], run({"x": x.astype(np.float32)})["y"])


@pytest.mark.parametrize(("low", "high", "levels"), [(-1.0, 1.0, 256), (0.0, 3.0, 16), (-0.7, 0.2, 255)])
def test_a_rounding_of_activations_written_out_is_what_openvino_gives(low, high, levels) -> None:
    given = ops.parameter([1000], np.float32, name="x")
    bounds = [np.float32(bound) for bound in (low, high, 2 * low, 2 * high)]
    node = ops.fake_quantize(given, *map(ops.constant, bounds), levels)
    x = np.linspace(low - 1, high + 1, 1000, dtype=np.float32)
    each = []
    for result in (node, openvino._rounded(node)):
        model = ov.Model([result], [given])
        each.append(ov.Core().compile_model(model, "CPU", openvino._PLAIN)({"x": x})[0])
    step = 2 * (high - low) / (levels - 1)
    apart = np.abs(each[0] - each[1])
    assert (apart > step / 2).sum() <= 2  # where x lies between two levels, to the last bit
    assert apart.max() <= step * 1.001


@pytest.mark.parametrize(
    ("dtype", "by", "rounds"),
    [("w8", comparison.PLAINLY, False), ("w4", comparison.PLAINLY, False), ("int8", openvino.BY, True)],
)
def test_openvino_computes_what_was_quantised(exports, dtype, by, rounds) -> None:
    numbers = checked(exports, dtype)
    found = numbers["quantised"]
    assert (found["pass"], found["by"], found["note"]) == (True, by, "")
    assert found["loss_snr_db"] == pytest.approx(numbers["snr_db"], abs=0.1)
    assert found["loss_snr_db"] < 60, "quantising loses something"
    if rounds:
        assert found["snr_db"] >= found["least_snr_db"]
    else:
        assert found["max_rel"] <= 1e-5  # where weights alone lose a thousand times as much


@pytest.mark.parametrize("dtype", ["w8", "int8"])
def test_an_engine_that_computes_something_else_is_noticed_below_the_noise(exports, monkeypatch, dtype) -> None:
    """A fault that is smaller than the noise of quantising: by the noise against torch alone it passes."""
    share = 0.005 if dtype == "w8" else 0.02

    class Off(running.Latency):
        def outputs(self):
            return {name: array * (1 + share * np.sign(array)) for name, array in super().outputs().items()}

    monkeypatch.setitem(running.SCENARIOS, "latency", (running.SCENARIOS["latency"][0], Off))
    numbers = checked(exports, dtype)
    assert numbers["snr_db"] >= numbers["least_snr_db"]
    assert numbers["quantised"]["pass"] is False
    assert numbers["pass"] is False


def test_what_cannot_be_compared_is_said(exports, monkeypatch) -> None:
    def broken(*_):
        raise RuntimeError("no such operator")

    monkeypatch.setattr(openvino, "meant", broken)
    numbers = checked(exports, "w8")
    assert numbers["pass"]
    assert numbers["quantised"]["pass"] is None
    assert "no such operator" in numbers["quantised"]["note"]


def test_a_float_model_has_no_such_part(exports) -> None:
    assert "quantised" not in checked(exports, "fp32")


@pytest.mark.parametrize(
    ("loss", "dtype", "least"),
    [(None, "fp32", 40), (20, "fp32", 30), (35, "fp32", 40), (20, "fp16", 14), (60, "fp16", 40), (30, "bf16", 24)],
)
def test_what_is_asked_of_an_engine_that_rounds(loss, dtype, least) -> None:
    assert quantised.least_db(loss, dtype) == least


def checked(exports, dtype: str):
    emit = Emit()
    driver.run(job(torch_recipes.BERT, **OPENVINO, dtype=dtype) | {"options": {"exports": exports}}, emit)
    return emit.reports[0]["numerics"]

"""Damage to graphs: which weights are found, what a grade does to them, and what is left alone."""

import hashlib

import numpy as np
import onnx
import onnx_ir
import pytest
import torch
from onnx import TensorProto, helper, numpy_helper

from assay_runner.exporting import comparison, damaging
from assay_runner.exporting.damaging import Piece, Weight


def drawn(*shape, seed=0):
    return np.random.default_rng(seed).uniform(-1, 1, shape).astype(np.float32)


def saved(folder, nodes, inputs, outputs, weights):
    """A graph in a file; inputs and outputs are name → (type, shape)."""
    typed = [[helper.make_tensor_value_info(n, *t) for n, t in values.items()] for values in (inputs, outputs)]
    held = [numpy_helper.from_array(array, name) for name, array in weights.items()]
    made = helper.make_graph(nodes, "g", *typed, held)
    path = folder / "model.onnx"
    onnx.save(helper.make_model(made, opset_imports=[helper.make_opsetid("", 18)], ir_version=10), path)
    return path


FLOAT = TensorProto.FLOAT


def network(folder):
    """A table, a product through a transpose, a product, and an output that no weight reaches."""
    nodes = [
        helper.make_node("Gather", ["table", "ids"], ["embedded"]),
        helper.make_node("Transpose", ["first"], ["turned"], perm=[1, 0]),
        helper.make_node("MatMul", ["embedded", "turned"], ["hidden"]),
        helper.make_node("Tanh", ["hidden"], ["bent"]),
        helper.make_node("MatMul", ["bent", "last"], ["y"]),
        helper.make_node("Cast", ["ids"], ["same"], to=FLOAT),
    ]
    inputs = {"ids": (TensorProto.INT64, [1, 5])}
    outputs = {"y": (FLOAT, [1, 5, 12]), "same": (FLOAT, [1, 5])}
    weights = {"table": drawn(20, 8), "first": drawn(16, 8, seed=1), "last": drawn(16, 12, seed=2)}
    return saved(folder, nodes, inputs, outputs, weights)


IDS = {"ids": torch.tensor([[1, 2, 3, 4, 5]])}


def weights(path):
    return {name: value.const_value.numpy() for name, value in onnx_ir.load(path).graph.initializers.items()}


def test_weights_are_found_by_structure_the_last_first(tmp_path):
    found = damaging.grades(onnx_ir.load(network(tmp_path)))
    assert [(grade.kind, grade.of) for grade in found] == [
        ("negate-quarter", "last"),
        ("negate-quarter", "first"),
        ("negate-weight", "last"),
        ("negate-weight", "first"),
        ("negate-quarters", "products and convolutions"),
        ("negate-quarters", "all weights"),
        ("zero-weights", "all weights"),
    ]
    axes = {piece.weight.name: piece.weight.axis for piece in found[-1].pieces}
    assert axes == {"last": 1, "first": 0, "table": 1}  # behind a transpose the channels lie first


CHANNELS = [
    ("Conv", {}, (4, 3, 2, 2), (1, 3, 4, 4), 0),
    ("ConvTranspose", {}, (3, 4, 2, 2), (1, 3, 4, 4), 1),
    ("Gemm", {"transB": 1}, (4, 3), (2, 3), 0),
    ("Gemm", {}, (3, 4), (2, 3), 1),
    ("MatMul", {}, (5, 3, 4), (5, 2, 3), 2),
]


@pytest.mark.parametrize(("operator", "attributes", "shape", "given", "axis"), CHANNELS, ids=lambda v: str(v))
def test_channels_are_those_that_come_out(tmp_path, operator, attributes, shape, given, axis):
    """A quarter of them is wrong in every output, and the others are as they were."""
    nodes = [helper.make_node(operator, ["x", "w"], ["y"], **attributes)]
    path = saved(tmp_path, nodes, {"x": (FLOAT, given)}, {"y": (FLOAT, None)}, {"w": drawn(*shape)})
    grade = damaging.grades(onnx_ir.load(path))[0]
    assert grade.pieces == (Piece(Weight("w", axis), 0.25, -1.0),)
    feeds = {"x": torch.from_numpy(drawn(*given, seed=3))}
    right = comparison.ran(path, feeds)["y"]
    wrong = comparison.ran(damaging.write(path, 0, tmp_path / "damaged"), feeds)["y"]
    out = right.ndim - 1 if operator in ("Gemm", "MatMul") else 1
    torch.testing.assert_close(wrong.select(out, 0), -right.select(out, 0))
    torch.testing.assert_close(wrong.narrow(out, 1, 3), right.narrow(out, 1, 3))


@pytest.mark.parametrize("number", range(7))
def test_a_damaged_graph_differs_in_its_slices_and_the_graph_stays(tmp_path, number):
    path = network(tmp_path)
    before, held = hashlib.sha256(path.read_bytes()).digest(), weights(path)
    grade = damaging.grades(onnx_ir.load(path))[number]
    found = weights(damaging.write(path, number, tmp_path / "damaged"))
    assert hashlib.sha256(path.read_bytes()).digest() == before
    damaged = {piece.weight.name: piece for piece in grade.pieces}
    assert found.keys() == held.keys()
    for name, array in held.items():
        if name not in damaged:
            np.testing.assert_array_equal(found[name], array)
            continue
        piece = damaged[name]
        rows, wrong = (np.moveaxis(one, piece.weight.axis, 0) for one in (array, found[name]))
        n = round(len(rows) * piece.share)
        assert n >= 1
        np.testing.assert_array_equal(wrong[:n], rows[:n] * piece.factor)
        np.testing.assert_array_equal(wrong[n:], rows[n:])


def test_effects_are_those_of_the_damaged_files(tmp_path):
    """One session with weights that are given anew gives what each file does."""
    path = network(tmp_path)
    expected = comparison.ran(path, IDS)
    kept = damaging.measured(path, ["y", "same"], IDS, expected)
    assert kept["why"] == ""
    for row in kept["effects"]:
        found = comparison.ran(damaging.write(path, row["number"], tmp_path / "damaged"), IDS)
        change = ((found["y"] - expected["y"]).abs().max() / expected["y"].abs().max()).item()
        assert row["change"] == pytest.approx(change, rel=1e-4)
        assert row["change"] > 0.01
        assert row["finite"]
    assert kept["moves"]["same"] == 0
    assert kept["moves"]["y"] == pytest.approx(max(row["change"] for row in kept["effects"]))


def test_a_graph_without_weights(tmp_path):
    path = saved(tmp_path, [helper.make_node("Neg", ["x"], ["y"])], {"x": (FLOAT, [2])}, {"y": (FLOAT, [2])}, {})
    feeds = {"x": torch.ones(2)}
    assert damaging.measured(path, ["y"], feeds, {"y": -feeds["x"]})["why"] == "the graph has no weights"


def test_a_graph_that_onnx_runtime_does_not_run(tmp_path):
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["h"]),
        helper.make_node("Unheard", ["h"], ["y"], domain="of.nobody"),
    ]
    path = saved(tmp_path, nodes, {"x": (FLOAT, [2, 3])}, {"y": (FLOAT, [2, 4])}, {"w": drawn(3, 4)})
    kept = damaging.measured(path, ["y"], {"x": torch.ones(2, 3)}, {"y": torch.ones(2, 4)})
    assert kept["effects"] == []
    assert kept["why"].startswith("ONNX Runtime does not run the damaged graph: ")

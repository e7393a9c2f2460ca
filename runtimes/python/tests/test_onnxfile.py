"""ONNX files of a user's own: their recipes, and what is made of them."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import onnx
import pytest
import torch_emit
from onnx import TensorProto, helper

from assay_runner.engines.graphs import driver
from assay_runner.engines.graphs.files import FileExporter
from assay_runner.errors import BadRecipe, UnreadableModel
from assay_runner.exporting.graph import Options
from assay_runner.exporting.store import Store
from assay_runner.subjects.recipes import onnxfile


class Emit:
    """Takes phases and points and keeps nothing."""

    index = None

    def in_phase(self, name):
        import contextlib

        return contextlib.nullcontext()


def write(path: Path, shape: list[int | str], nodes: list[onnx.NodeProto] | None = None) -> Path:
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, [None] * len(shape))
    two = helper.make_tensor("two", TensorProto.FLOAT, [], [2.0])
    nodes = nodes or [helper.make_node("Pow", ["x", "two"], ["y"])]
    model = helper.make_model(
        helper.make_graph(nodes, "g", [x], [y], [two]), opset_imports=[helper.make_opsetid("", 18)]
    )
    model.ir_version = 10
    onnx.save(model, path)
    return path


@pytest.mark.parametrize(
    ("shape", "made"),
    [
        (["n", 3, "h", "w"], ["batch", 3, "image", "image"]),
        (["batch", "length"], ["batch", "seq"]),
        ([2, "batch", 128], [2, "batch", 128]),
        ([4], [4]),
    ],
)
def test_free_axes_get_sizes_by_rule(tmp_path, shape, made):
    recipe = onnxfile.recipe(write(tmp_path / "m.onnx", shape))
    assert recipe["inputs"] == [{"name": "x", "dtype": "float32", "shape": made, "kind": "float"}]
    assert recipe["type"] == "onnx"
    assert recipe["parameters"] == 1


def test_a_file_beside_it_says_what_no_rule_knows(tmp_path):
    spec = {"name": "x", "kind": "ones", "dtype": "float32", "shape": ["batch", 5]}
    (tmp_path / "m.inputs.json").write_text(json.dumps({"inputs": [spec], "sizes": {"seq": 5}}))
    recipe = onnxfile.recipe(write(tmp_path / "m.onnx", ["b", "n"]))
    assert recipe["inputs"] == [spec]
    assert recipe["sizes"]["seq"] == 5


@pytest.mark.parametrize("bad", [b"", b"no model", b"\x08\x07"])
def test_what_is_no_model_is_said(tmp_path, bad):
    path = tmp_path / "m.onnx"
    path.write_bytes(bad)
    with pytest.raises(UnreadableModel, match=r"m\.onnx is not a readable ONNX model"):
        onnxfile.recipe(path)


def test_a_bad_file_beside_it_is_said(tmp_path):
    path = write(tmp_path / "m.onnx", ["b"])
    (tmp_path / "m.inputs.json").write_text("[1]")
    with pytest.raises(BadRecipe, match=r"m\.inputs\.json"):
        onnxfile.recipe(path)


def test_the_artefact_has_fixed_shapes_and_the_same_numbers(tmp_path):
    recipe = onnxfile.recipe(write(tmp_path / "m.onnx", ["b", "n"]))
    exporter = FileExporter({"recipe": recipe, "cell": {}, "threads": 1}, Emit(), Store(tmp_path / "store"), Options())
    with exporter.artefact({"batch": 3, "seq": 7}) as artefact:
        graph = artefact["graph"]
        assert graph["inputs"][0]["shape"] == [3, 7]
        assert graph["operators"] == {"Mul": 1}
        assert graph["check"]["pass"]
        assert artefact["control"]["change"] > 0.1
        with np.load(artefact.entry.path("inputs.npz")) as given:
            assert np.allclose(artefact.reference()["y"].numpy(), given["x"] ** 2)
    assert not list(artefact.entry.folder.glob("fixed*"))


@pytest.mark.parametrize(("shift", "silent"), [(0.0, False), (-40.0, True)])
def test_probabilities_of_nothing_are_not_compared(tmp_path, shift, silent):
    """A detector that sees nothing in noise runs, and no number is compared with it."""
    nodes = [helper.make_node("Add", ["x", "by"], ["s"]), helper.make_node("Sigmoid", ["s"], ["y"])]
    path = write(tmp_path / "m.onnx", ["b", "n"], [helper.make_node("Constant", [], ["by"], value_float=shift), *nodes])
    asked = {"platform": "cpu", "engine": "onnxruntime", "dtype": "fp32"}
    recipe, points = onnxfile.recipe(path), [{"batch": 1, "seq": 8}]
    job = {"kind": "check", "cell": asked, "recipe": recipe, "points": points, "threads": 1}
    emit = torch_emit.Emit()
    driver.run(job | {"options": {"exports": str(tmp_path / "store")}}, emit)
    report = emit.reports[0]
    assert (report["numerics"] is None) == silent
    assert ("inputs.json" in report["numerics_note"]) == silent

import dataclasses
import json

import numpy as np
import onnx
import onnx_ir
import onnxruntime
import pytest
import torch
import torch_recipes

from assay_runner.engines.formats import ONNX
from assay_runner.errors import BeyondAssay, ExportFailed, WrongExport
from assay_runner.exporting import constants, exporters, following, naming, traces, ways, writing
from assay_runner.exporting.call import Subject
from assay_runner.exporting.graph import Options
from assay_runner.subjects import inputs, outputs
from assay_runner.subjects.programs import building


def called(recipe, seed=0):
    """A recipe's model, its inputs and what they gave."""
    model = building.build(recipe, torch.float32, seed).model
    tensors = inputs.make(recipe, {"batch": 1}, seed, torch.float32)
    torch.manual_seed(seed)
    with torch.inference_mode():
        expected = outputs.flatten(model(**tensors, **recipe["call"]))
    return model, tensors, recipe["call"], {name: t.clone() for name, t in expected.items()}


@pytest.fixture(scope="module")
def bert():
    return called(torch_recipes.BERT)


@pytest.fixture
def by_torch(monkeypatch):
    """Only torch's own exporter, in one way."""
    monkeypatch.setattr(ways, "WAYS", (ways.Way(exporters.TORCH, frozenset({constants.LAYOUT})),))


class Plain(torch.nn.Module):
    """A model of one function."""

    config = None

    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, **kwargs):
        return {"y": self.function(**kwargs)}


def exported(function, folder, seed=0, **tensors):
    """A function of tensors as a graph."""
    torch.manual_seed(seed)
    expected = {"y": function(**tensors)}
    return ONNX.write(Subject(Plain(function), tensors, {}, expected, Options(seed=seed)), folder)


def test_bert_as_its_manifest_says(bert, tmp_path):
    model, tensors, call, expected = bert
    before = {name: id(value) for name, value in vars(model).items()}
    graph = ONNX.write(Subject(*bert), tmp_path)
    assert graph.check["pass"]
    assert 0 < graph.check["max_rel"] < 1e-5
    assert graph.inputs == [
        {"name": "input_ids", "shape": [1, 16], "dtype": "int64"},
        {"name": "attention_mask", "shape": [1, 16], "dtype": "int64"},
    ]
    assert graph.outputs == [{"name": "logits", "shape": [1, 16, 256], "dtype": "float32"}]
    assert graph.exporter.startswith("transformers ")
    assert not graph.tried
    assert "IsNaN" not in graph.operators
    written = onnx.load(tmp_path / graph.file)
    onnx.checker.check_model(written)
    assert written.opset_import[0].version == graph.opset
    assert sum(graph.operators.values()) == len(written.graph.node)
    assert json.loads(json.dumps(dataclasses.asdict(graph))) == dataclasses.asdict(graph)
    # The model is as it was.
    assert {name: id(value) for name, value in vars(model).items()} == before
    with torch.inference_mode():
        assert torch.equal(model(**tensors, **call).logits, expected["logits"])


def test_masks_become_constants_where_that_is_asked_for(bert, tmp_path):
    graph = ONNX.write(Subject(*bert, Options(constant_masks=True)), tmp_path)
    assert [row["name"] for row in graph.inputs] == ["input_ids"]
    assert graph.check["pass"]
    assert graph.steps[0] == {
        "name": "constant inputs",
        "count": 1,
        "why": "attention_mask: fixed like the shapes, since they say how the other inputs are laid out",
        "inputs": ["attention_mask"],
    }
    assert "Where" not in graph.operators


def test_the_second_exporter_takes_over_with_the_asked_opset(bert, tmp_path, monkeypatch):
    def stopped(subject):
        raise NotImplementedError("no such operator")

    broken = dataclasses.replace(exporters.TRANSFORMERS, export=stopped)
    monkeypatch.setattr(ways, "WAYS", (ways.Way(broken, frozenset()), ways.Way(exporters.TORCH, frozenset())))
    graph = ONNX.write(Subject(*bert, Options(opset=18)), tmp_path)
    assert graph.exporter.startswith("torch.onnx ")
    assert graph.opset == 18
    assert graph.check["pass"]
    assert [row["error"] for row in graph.tried] == ["NotImplementedError: no such operator"]


@pytest.mark.usefixtures("by_torch")
def test_wrong_numbers_are_refused(tmp_path):
    x = torch.ones(2, 2)
    with pytest.raises(WrongExport, match=r"differ from the model's by 0\.33") as caught:
        ONNX.write(Subject(Plain(lambda x: x + 1), {"x": x}, {}, {"y": x + 2}), tmp_path)
    assert caught.value.max_rel == pytest.approx(1 / 3)
    assert len(caught.value.tried) == 1


@pytest.mark.usefixtures("by_torch")
def test_what_no_exporter_can_write(tmp_path):
    with pytest.raises(ExportFailed, match="no exporter could write") as caught:
        exported(lambda x: x + 1 if x.sum() > 0 else x - 1, tmp_path, x=torch.ones(2))
    assert [row["exporter"] for row in caught.value.tried] == [f"torch.onnx {torch.__version__.partition('+')[0]}"]
    assert not (tmp_path / "model.onnx").exists()


def test_a_program_is_no_graph(tmp_path):
    with pytest.raises(BeyondAssay, match="several calls"):
        ONNX.write(Subject(torch.nn.Identity(), {}, {}, {}), tmp_path)


@pytest.mark.usefixtures("by_torch")
def test_what_follows_from_a_constant_input_is_no_question(tmp_path):
    def cut(x, lengths):
        mask = torch.arange(x.shape[0]) < lengths[0]
        return torch.cat([part.sum(0, keepdim=True) for part in x[mask].split([1, int(lengths[1])])])

    graph = exported(cut, tmp_path, x=torch.randn(5, 3), lengths=torch.tensor([4, 3]))
    assert [row["name"] for row in graph.inputs] == ["x"]
    assert graph.outputs[0]["shape"] == [2, 3]
    assert graph.check["pass"]


@pytest.mark.usefixtures("by_torch")
def test_a_table_that_the_model_fills_is_traced(tmp_path):
    def chosen(x):
        table = torch.zeros(3, 4, dtype=torch.bool)
        table.scatter_(1, x.argmax(1, keepdim=True), True)
        return x.masked_fill(table, 0.0)

    assert exported(chosen, tmp_path, x=torch.randn(3, 4)).check["pass"]


@pytest.mark.usefixtures("by_torch")
def test_noise_is_what_the_seed_draws(tmp_path):
    graph = exported(lambda x: x + torch.randn_like(x) * torch.rand(2), tmp_path, seed=7, x=torch.zeros(2, 2))
    assert graph.check["pass"]
    assert "RandomNormalLike" not in graph.operators


def test_what_is_drawn_like_a_turned_tensor_is_turned(tmp_path):
    def noisy(x):
        return x.permute(0, 2, 1) + torch.randn_like(x.permute(0, 2, 1)) + torch.rand_like(x.permute(2, 1, 0))[0, 0, 0]

    assert exported(noisy, tmp_path, seed=7, x=torch.zeros(2, 5, 3)).check["pass"]


class Striding(torch.nn.Module):
    """Reads its stride out of a buffer."""

    config = None

    def __init__(self):
        super().__init__()
        self.register_buffer("stride", torch.tensor(2))

    def forward(self, x):
        return {"y": x[:: int(self.stride)] if self.stride > 1 else x}


@pytest.mark.usefixtures("by_torch")
def test_numbers_in_buffers_are_known(tmp_path):
    model, x = Striding(), torch.randn(5)
    graph = ONNX.write(Subject(model, {"x": x}, {}, {"y": x[::2]}), tmp_path)
    assert graph.check["pass"]
    assert list(dict(model.named_buffers())) == ["stride"]


@pytest.mark.usefixtures("by_torch")
def test_an_input_that_nothing_uses_is_left_out(tmp_path):
    graph = exported(lambda x, unused: x.exp(), tmp_path, x=torch.ones(2), unused=torch.ones(3))
    assert [row["name"] for row in graph.inputs] == ["x"]


@pytest.mark.parametrize(
    ("name", "tensor", "kind"),
    [
        ("image_grid_thw", torch.tensor([[1, 4, 4]]), constants.LAYOUT),
        ("image_sizes", torch.tensor([[8, 8]]), constants.LAYOUT),
        ("feature_lens", torch.tensor([8]), constants.LAYOUT),
        ("mm_token_type_ids", torch.tensor([[0, 1]]), constants.LAYOUT),
        ("attention_mask", torch.tensor([[1, 1]]), constants.MASK),
        ("attention_mask", torch.tensor([[1, 0]]), ""),
        ("input_features_mask", torch.tensor([[True]]), constants.FRAME),
        ("pixel_mask", torch.ones(1, 2, 2), constants.FRAME),
        ("image_sizes", torch.ones(1, 2), ""),  # not of whole numbers
        ("input_ids", torch.tensor([[1, 1]]), ""),
        ("decoder_input_ids", torch.tensor([[1, 1]]), ""),
        ("token_type_ids", torch.tensor([[0, 1]]), ""),
        ("pixel_values", torch.ones(1, 3), ""),
        ("bbox", torch.tensor([[0, 1]]), ""),
    ],
)
def test_companions(name, tensor, kind):
    kinds = (constants.LAYOUT, constants.FRAME, constants.MASK)
    assert [k for k in kinds if constants.companions({name: tensor}, frozenset({k}))] == ([kind] if kind else [])


def test_ways_that_do_not_differ_are_tried_once():
    def count(dynamic, **tensors):
        return len(ways.possible(Subject(torch.nn.Identity(), tensors, {}, {}, Options(dynamic=dynamic))))

    ids, mask = torch.tensor([[1]]), torch.tensor([[1]])
    assert count(False, input_ids=ids) < count(False, input_ids=ids, attention_mask=mask)
    assert count(False, input_ids=ids, attention_mask=mask) < len(ways.WAYS)
    assert count(True, input_ids=ids, attention_mask=mask) > count(False, input_ids=ids, attention_mask=mask)
    assert count(False, pixel_values=ids, pixel_mask=mask) > count(False, input_ids=ids, attention_mask=mask)


def test_a_failure_names_its_operator_or_line():
    unknown = ValueError("No ONNX function found for <OpOverload(op='aten._is_all_true', overload='default')>. More")
    guard = RuntimeError("Could not guard\nCaused by: (transformers/models/qwen2_vl/modeling_qwen2_vl.py:12 in f)\n")
    assert traces.where(unknown) == "aten._is_all_true"
    assert traces.where(guard) == "transformers/models/qwen2_vl/modeling_qwen2_vl.py:12"
    assert traces.where(ValueError("nothing to see")) == ""
    outer = RuntimeError("export failed")
    outer.__cause__ = guard
    assert traces.line(outer) == "RuntimeError: Could not guard"
    assert traces.where(outer) == traces.where(guard)


def test_a_line_of_the_model_is_found_in_the_traceback():
    model = building.build(torch_recipes.BERT, torch.float32, 0).model
    with pytest.raises((IndexError, ValueError, RuntimeError)) as caught:
        model(input_ids=torch.zeros(1, 2, 3, dtype=torch.int64))
    assert traces.where(caught.value).startswith("transformers/")


def test_names_of_inputs_that_are_outputs_too():
    text = '<ir_version: 10, opset_import: ["" : 20]> g (float[1] x, float[1] unused) => (float[1] z) { z = Neg(x) }'
    model = onnx_ir.from_onnx_text(text)
    model.graph.inputs[0].name = "input.x"
    naming.settle(model, {"x"})
    assert [value.name for value in model.graph.inputs] == ["x"]


def test_known_tensors_stay_real_and_masks_are_counted():
    with following.Known():
        assert following.known(torch.arange(3) * 2)
        x = torch.ones(3, requires_grad=False)
        x[torch.tensor([True, False, True])] = 0.0
        assert x.tolist() == [0.0, 1.0, 0.0]


def test_free_axes(bert, tmp_path):
    graph = ONNX.write(Subject(*bert, Options(dynamic=True)), tmp_path)
    assert [row["shape"] for row in graph.inputs] == [["batch", "sequence"]] * 2
    assert graph.outputs[0]["shape"] == ["batch", "sequence", 256]
    assert not graph.tried
    assert "fixed axes" not in [step["name"] for step in graph.steps]
    model, tensors, call, _ = bert
    other = {name: torch.cat([t[:, :9]] * 3) for name, t in tensors.items()}
    session = onnxruntime.InferenceSession(tmp_path / graph.file)
    (found,) = session.run(None, {name: t.numpy() for name, t in other.items()})
    with torch.inference_mode():
        torch.testing.assert_close(torch.from_numpy(found), model(**other, **call).logits, rtol=1e-4, atol=1e-4)


def test_axes_that_cannot_be_free_are_said(tmp_path):
    def function(ids):
        return ids.reshape(2, 3) * 2  # holds for six numbers only

    ids = torch.arange(6).reshape(2, 3)
    subject = Subject(Plain(function), {"ids": ids}, {}, {"y": ids * 2}, Options(dynamic=True))
    (step,) = [step for step in ONNX.write(subject, tmp_path).steps if step["name"] == "fixed axes"]
    assert step["count"] == 2
    assert "batch of ids, sequence of ids" in step["why"]


def test_large_weights_lie_beside_the_graph(tmp_path, monkeypatch):
    weights = onnx_ir.tensor(np.ones((40, 40), np.float32), name="w")
    text = '<ir_version: 10, opset_import: ["" : 20]> g (float[1, 40] x) => (float[1, 40] z) { z = MatMul(x, w) }'
    proto = onnx.parser.parse_model(text)
    proto.graph.initializer.append(onnx.numpy_helper.from_array(weights.numpy(), "w"))
    model = onnx_ir.from_proto(proto)
    for limit, files in ((1 << 20, ["model.onnx"]), (1 << 10, ["model.onnx", "model.onnx.data"])):
        monkeypatch.setattr(writing, "INLINE_BYTES", limit)
        writing.write(model, tmp_path)
        assert sorted(path.name for path in tmp_path.iterdir()) == files
        session = onnxruntime.InferenceSession(tmp_path / "model.onnx")
        assert session.run(None, {"x": np.ones((1, 40), np.float32)})[0].tolist() == [[40.0] * 40]


def test_a_constant_that_nothing_holds_is_held():
    text = '<ir_version: 10, opset_import: ["" : 20]> g (float[2] x) => (float[2] z) { z = Add(x, x) }'
    model = onnx_ir.from_onnx_text(text)
    lost = onnx_ir.val("c", const_value=onnx_ir.tensor(np.ones(2, np.float32), name="c"))
    model.graph[0].replace_input_with(1, lost)
    naming.settle(model, {"x"})
    session = onnxruntime.InferenceSession(onnx_ir.to_proto(model).SerializeToString())
    assert session.run(None, {"x": np.ones(2, np.float32)})[0].tolist() == [2.0, 2.0]


def test_patches_that_compute_something_else_are_left_out():
    from transformers.exporters import exporter_onnx, utils

    assert exporter_onnx.OnnxExporter  # whose module brings the patches

    def classes():
        return {row[0] for rows in utils._PATCHES.values() for row in rows}

    assert set(exporters.WRONG_PATCHES) <= classes()  # a row that no release has should be removed
    with exporters.nothing_beforehand():
        assert classes()
        assert not set(exporters.WRONG_PATCHES) & classes()

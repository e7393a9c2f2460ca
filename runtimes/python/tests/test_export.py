import dataclasses
import json

import onnx
import pytest
import torch
import torch_recipes

from assay_runner import export, inputs, models, outputs
from assay_runner.errors import ExportFailed, WrongExport
from assay_runner.export import exporters, ways


def called(recipe, seed=0):
    """A recipe's model, its inputs and what they gave."""
    model = models.build(recipe, torch.float32, seed).model
    tensors = inputs.make(recipe, {"batch": 1}, seed, torch.float32)
    torch.manual_seed(seed)
    with torch.inference_mode():
        expected = outputs.flatten(model(**tensors, **recipe["call"]))
    return model, tensors, recipe["call"], {name: t.clone() for name, t in expected.items()}


@pytest.fixture(scope="module")
def bert():
    return called(torch_recipes.BERT)


def test_bert_as_its_manifest_says(bert, tmp_path):
    graph = export.to_onnx(*bert, tmp_path)
    assert graph.check["pass"]
    assert 0 < graph.check["max_rel"] < 1e-5
    assert graph.inputs == [
        {"name": "input_ids", "shape": [1, 16], "dtype": "int64"},
        {"name": "attention_mask", "shape": [1, 16], "dtype": "int64"},
    ]
    assert graph.outputs == [{"name": "logits", "shape": [1, 16, 256], "dtype": "float32"}]
    assert graph.exporter.startswith("transformers ")
    assert not graph.tried
    written = onnx.load(tmp_path / graph.file)
    onnx.checker.check_model(written)
    assert written.opset_import[0].version == graph.opset
    assert sum(graph.operators.values()) == len(written.graph.node)
    assert json.loads(json.dumps(dataclasses.asdict(graph))) == dataclasses.asdict(graph)


def test_the_model_is_as_it_was_before(bert, tmp_path):
    model, tensors, call, expected = bert
    before = {name: id(value) for name, value in vars(model).items()}
    export.to_onnx(*bert, tmp_path)
    assert {name: id(value) for name, value in vars(model).items()} == before
    with torch.inference_mode():
        assert torch.equal(model(**tensors, **call).logits, expected["logits"])


def test_masks_become_constants_where_that_is_asked_for(bert, tmp_path):
    graph = export.to_onnx(*bert, tmp_path, export.Options(constant_masks=True))
    assert [row["name"] for row in graph.inputs] == ["input_ids"]
    assert graph.check["pass"]
    assert graph.steps[0]["name"] == "constant inputs"
    assert graph.steps[0]["count"] == 1


def test_a_mask_that_hides_something_is_never_a_constant(bert, tmp_path):
    model, tensors, call, _ = bert
    tensors = {**tensors, "attention_mask": torch.tensor([[1] * 10 + [0] * 6])}
    with torch.inference_mode():
        expected = outputs.flatten(model(**tensors, **call))
    graph = export.to_onnx(model, tensors, call, expected, tmp_path, export.Options(constant_masks=True))
    assert [row["name"] for row in graph.inputs] == ["input_ids", "attention_mask"]
    assert graph.check["pass"]


def test_the_asked_opset(bert, tmp_path):
    assert export.to_onnx(*bert, tmp_path, export.Options(opset=18)).opset == 18


def test_the_second_exporter_takes_over(bert, tmp_path, monkeypatch):
    def stopped(subject):
        raise NotImplementedError("no such operator")

    broken = dataclasses.replace(exporters.TRANSFORMERS, export=stopped)
    monkeypatch.setattr(ways, "WAYS", (ways.Way(broken, frozenset()), ways.Way(exporters.TORCH, frozenset())))
    graph = export.to_onnx(*bert, tmp_path)
    assert graph.exporter.startswith("torch.onnx ")
    assert graph.check["pass"]
    assert [row["error"] for row in graph.tried] == ["NotImplementedError: no such operator"]


def test_wrong_numbers_are_refused(tmp_path):
    x = torch.ones(2, 2)
    with pytest.raises(WrongExport, match=r"differ from the model's by 0\.33") as caught:
        export.to_onnx(Adding(), {"x": x}, {}, {"y": x + 2}, tmp_path)
    assert caught.value.max_rel == pytest.approx(1 / 3)
    assert len(caught.value.tried) == len({row["exporter"] for row in caught.value.tried}) > 1


class Adding(torch.nn.Module):
    config = None

    def forward(self, x):
        return {"y": x + 1}


class Branching(torch.nn.Module):
    config = None

    def forward(self, x):
        return {"y": x + 1 if x.sum() > 0 else x - 1}


def test_what_no_exporter_can_write(tmp_path):
    x = torch.ones(2, 2)
    with pytest.raises(ExportFailed, match="no exporter could write") as caught:
        export.to_onnx(Branching(), {"x": x}, {}, {"y": x + 1}, tmp_path)
    assert caught.value.tried
    assert not (tmp_path / "model.onnx").exists()

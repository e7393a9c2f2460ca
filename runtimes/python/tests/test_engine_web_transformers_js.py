"""Folders for transformers.js: their layout, and which pipeline is called for what."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import onnxruntime
import pytest
import torch
import torch_recipes
from torch_emit import Emit, job
from transformers import AutoTokenizer, WhisperFeatureExtractor

from assay_runner.engines.torch import engine
from assay_runner.engines.web import growing, growing_encoder, transformers_js
from assay_runner.engines.web.backend import Web
from assay_runner.engines.web.js_pipeline import layout
from assay_runner.errors import ExportFailed
from assay_runner.exporting.call import Subject
from assay_runner.subjects import generation


def written(recipe, folder: Path, **cell):
    """The folder of a recipe's model, and the inputs and outputs that it was written for."""
    session = engine.Session(job(recipe, **cell), Emit())
    tensors, model = session.inputs({"batch": 1}), session.built().model
    expected = session.forward(model, tensors)
    with torch.no_grad():
        graph = transformers_js.write(Subject(model, tensors, recipe.get("call", {}), expected), folder)
    return graph, tensors, expected


def test_a_text_model_has_words_that_give_its_ids_back(tmp_path):
    graph, tensors, expected = written(torch_recipes.BERT, tmp_path)
    assert graph.file == "onnx/model.onnx"
    assert {"config.json", "tokenizer.json", "tokenizer_config.json", "onnx/model.onnx"} <= set(layout(tmp_path))
    call = json.loads((tmp_path / "pipeline.json").read_text())
    assert call["task"] == "feature-extraction"
    ids = AutoTokenizer.from_pretrained(tmp_path)(call["texts"])["input_ids"]
    assert ids == tensors["input_ids"].tolist()
    session = onnxruntime.InferenceSession(str(tmp_path / graph.file), providers=["CPUExecutionProvider"])
    feeds = {given.name: tensors[given.name].numpy() for given in session.get_inputs()}
    np.testing.assert_allclose(session.run(None, feeds)[0], next(iter(expected.values())), rtol=1e-3, atol=1e-4)


def test_a_model_that_generates_has_its_past_as_input_and_output(tmp_path):
    graph, tensors, expected = written(torch_recipes.LLAMA, tmp_path, mode="generate")
    assert graph.check["pass"]
    assert json.loads((tmp_path / "config.json").read_text())["eos_token_id"] is None
    session = onnxruntime.InferenceSession(str(tmp_path / graph.file), providers=["CPUExecutionProvider"])
    names = [given.name for given in session.get_inputs()]
    assert [n for n in names if "past" in n] == [f"past_key_values.{i}.{w}" for i in (0, 1) for w in ("key", "value")]
    assert all(isinstance(given.shape[i], int) for given in session.get_inputs()[-2:] for i in (1, 3))
    made = growing.continued(session, tensors["input_ids"].numpy(), generation.NEW_TOKENS)
    assert made["generated"].tolist() == expected["generated"].tolist()


def test_a_model_with_an_encoder_has_two_graphs_and_what_its_decoder_begins_with(tmp_path):
    graph, tensors, expected = written(torch_recipes.T5, tmp_path, mode="generate")
    assert graph.check["pass"]
    assert graph.file == "onnx/decoder_model_merged.onnx"
    names = set(layout(tmp_path))
    assert {"onnx/encoder_model.onnx", "generation_config.json"} <= names
    assert "onnx/model.onnx" not in names
    call = json.loads((tmp_path / "pipeline.json").read_text())
    assert call["task"] == "text2text-generation"
    assert call["decoder_input_ids"] == [[0, *tensors["decoder_input_ids"][0].tolist()]]  # T5 begins with its padding
    encoder, decoder = (
        onnxruntime.InferenceSession(str(tmp_path / "onnx" / name), providers=["CPUExecutionProvider"])
        for name in (growing_encoder.ENCODER, growing_encoder.DECODER)
    )
    kept = [given.name for given in decoder.get_inputs() if "past" in given.name]
    assert kept == [f"past_key_values.0.decoder.{what}" for what in ("key", "value")]
    given = {name: t.numpy() for name, t in tensors.items()}
    made = growing_encoder.continued(encoder, decoder, given, np.asarray(call["decoder_input_ids"]))
    assert made["generated"].tolist() == expected["generated"].tolist()


def test_what_is_heard_has_the_models_own_features_and_words(tmp_path):
    graph, tensors, _ = written(torch_recipes.WHISPER, tmp_path, mode="generate")
    assert graph.check["pass"]
    call = json.loads((tmp_path / "pipeline.json").read_text())
    assert call["task"] == "automatic-speech-recognition"
    extractor = WhisperFeatureExtractor.from_pretrained(tmp_path)
    made = extractor(np.zeros(call["samples"]), sampling_rate=16000, padding="max_length", max_length=call["samples"])
    assert np.shape(made["input_features"]) == tuple(tensors["input_features"].shape)
    assert json.loads((tmp_path / "tokenizer_config.json").read_text())["tokenizer_class"] == "WhisperTokenizer"


@pytest.mark.parametrize(
    ("kind", "given", "pipe"),
    [
        ("t5", ["input_ids", "decoder_input_ids"], "text2text-generation"),
        ("whisper", ["input_features", "decoder_input_ids"], "automatic-speech-recognition"),
        ("speech_to_text", ["input_features", "decoder_input_ids"], None),
        ("vision-encoder-decoder", ["pixel_values", "decoder_input_ids"], None),
    ],
)
def test_a_text_is_made_in_the_pipeline_for_it(kind, given, pipe):
    tensors = dict.fromkeys(given)
    if pipe:
        assert transformers_js.generating(kind, tensors) == pipe
        return
    with pytest.raises(ExportFailed, match=f"makes text from {given[0]}.* with {kind}"):
        transformers_js.generating(kind, tensors)


@pytest.mark.parametrize(
    ("name", "given", "task"),
    [
        ("LlamaForCausalLM", ["input_ids", "attention_mask"], "feature-extraction"),
        ("ViTForImageClassification", ["pixel_values"], "image-classification"),
        ("ViTModel", ["pixel_values"], "image-feature-extraction"),
        ("Wav2Vec2ForCTC", ["input_values"], "automatic-speech-recognition"),
        ("DetrForObjectDetection", ["pixel_values"], None),
        ("CLIPModel", ["input_ids", "pixel_values"], None),
        ("WhisperForConditionalGeneration", ["input_features", "decoder_input_ids"], None),
        ("T5ForConditionalGeneration", ["input_ids", "decoder_input_ids"], None),
    ],
)
def test_the_pipeline_is_known_by_what_a_model_reads(name, given, task):
    tensors = dict.fromkeys(given)
    if task:
        assert transformers_js.task(name, tensors) == task
        return
    with pytest.raises(ExportFailed, match=f"no pipeline of transformers.js is called for {name}"):
        transformers_js.task(name, tensors)


@pytest.mark.parametrize(
    ("name", "output", "expected"),
    [
        ("input.past_key_values.layers.3.keys", False, "past_key_values.3.key"),
        ("output.past_key_values.layers.3.values", True, "present.3.value"),
        ("past_key_values.layers.12.keys", True, "present.12.key"),
        ("logits", True, "logits"),
    ],
)
def test_the_past_has_the_names_of_the_ecosystem(name, output, expected):
    assert growing.named(name, output) == expected


def test_a_library_is_an_attempt_of_its_own():
    for mode in ("infer", "generate"):
        (attempt,) = Web.attempts({"engine": "ort-web", "mode": mode, "via": "transformers.js"})
        assert attempt.form.kind == "transformers.js"
        assert attempt.settings == {"THROUGH": "transformers.js"}

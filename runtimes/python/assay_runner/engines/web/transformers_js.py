"""Writes a model as a folder that transformers.js loads: the graph in `onnx`, the configuration, and what its pipelines
need beside: a tokenizer of a word for each id, or the settings of an image or audio processor.

`pipeline.json` says which pipeline is called, and with what. A model that generates is one graph with free axes, whose
past is an input and an output under the names that transformers.js knows; any other model is the graph that every
engine gets.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from assay_runner.engines.web import growing, growing_encoder
from assay_runner.errors import ExportFailed
from assay_runner.exporting import trying
from assay_runner.exporting.call import Subject
from assay_runner.exporting.graph import Graph
from assay_runner.subjects.diffusion import tokenizers

GRAPHS = "onnx"  # the folder that transformers.js looks for graphs in
CALL = "pipeline.json"
RATE = 16_000
WHISPER = "whisper"
_FFT, _HOP = 400, 160  # of its feature extractor
DECODED = "decoder_input_ids"  # a model with a decoder of its own has pipelines that generate, and no other

_NORMAL = {"do_resize": True, "do_rescale": True, "rescale_factor": 1 / 255, "do_normalize": True, "resample": 2}
_AROUND = {"image_mean": [0.5] * 3, "image_std": [0.5] * 3}
_AUDIO = {"feature_extractor_type": "Wav2Vec2FeatureExtractor", "processor_class": "Wav2Vec2Processor"}

_WHISPER = {
    "feature_extractor_type": "WhisperFeatureExtractor",
    "processor_class": "WhisperProcessor",
    "sampling_rate": RATE,
    "n_fft": _FFT,
    "hop_length": _HOP,
    "padding_value": 0.0,
    "return_attention_mask": False,
}
_WORDS = "tokenizer_config.json"

_ENDS = ("eos_token_id", "forced_eos_token_id")
_TOLD = (
    "bos_token_id",
    "pad_token_id",
    "decoder_start_token_id",
    "forced_bos_token_id",
    "suppress_tokens",
    "begin_suppress_tokens",
)
"""What a generation is told of a model's own settings: what decides its tokens. The library stumbles over others."""

_TASKS: Mapping[str, Mapping[str, str]] = {
    "input_ids": {"": "feature-extraction"},
    "pixel_values": {"ForImageClassification": "image-classification", "Model": "image-feature-extraction"},
    "input_values": {"ForCTC": "automatic-speech-recognition", "ForSequenceClassification": "audio-classification"},
}
"""What a model reads → how its class ends → the pipeline. That of texts shows a graph's own outputs, whatever the head
is."""

_MADE_OF = (
    ("input_ids", "", "text2text-generation"),
    ("input_features", WHISPER, "automatic-speech-recognition"),
)
"""What an encoder reads, of which type its model is ("" is any), and the pipeline that makes a text of it."""


def write(subject: Subject, folder: Path) -> Graph:
    """Writes the folder for a plain model, or for one that continues texts (`programs.continuing`)."""
    generates = "generated" in subject.expected
    model = subject.model.model if generates else subject.model
    (folder / GRAPHS).mkdir()
    graph, call = (_continuing if generates else _plain)(subject, folder / GRAPHS)
    _configuration(model, folder)
    call |= _beside(model.config, subject.tensors, folder)
    (folder / CALL).write_text(json.dumps(call))
    return replace(graph, file=f"{GRAPHS}/{graph.file}")


def _plain(subject: Subject, folder: Path) -> tuple[Graph, dict[str, Any]]:
    """One call of a model, and its pipeline."""
    called = {"task": task(type(subject.model).__name__, subject.tensors)}
    return trying.first_good(subject, folder), called


def _continuing(subject: Subject, folder: Path) -> tuple[Graph, dict[str, Any]]:
    """A model that makes a text of one, and its pipeline."""
    if not subject.model.model.config.is_encoder_decoder:
        return growing.write(subject, folder), {"task": "text-generation"}
    pipe = generating(str(subject.model.model.config.model_type), subject.tensors)
    graph, begun = growing_encoder.write(subject, folder)
    return graph, {"task": pipe, DECODED: begun}


def generating(kind: str, tensors: Mapping[str, Any]) -> str:
    """The pipeline in which a type of model with an encoder makes a text, by what it reads."""
    for given, of, pipe in _MADE_OF:
        if given in tensors and of in ("", kind):
            return pipe
    raise ExportFailed(f"no pipeline of transformers.js makes text from {', '.join(tensors)} with {kind}")


def task(name: str, tensors: Mapping[str, Any]) -> str:
    """The pipeline for a class, by what it reads."""
    read = [given for given in _TASKS if given in tensors]
    found = [pipe for given in read for end, pipe in _TASKS[given].items() if name.endswith(end)]
    if len(read) != 1 or not found or DECODED in tensors:
        raise ExportFailed(f"no pipeline of transformers.js is called for {name}, which reads {', '.join(tensors)}")
    return found[0]


def _configuration(model: Any, folder: Path) -> None:
    """The model's own, without an end of text: every engine generates as many tokens. How it generates is told too."""
    values = json.loads(model.config.to_json_string(use_diff=False))
    (folder / "config.json").write_text(json.dumps({**values, **dict.fromkeys(_ENDS)}))
    if getattr(model, "generation_config", None) is not None:
        told = {name: value for name in _TOLD if (value := getattr(model.generation_config, name, None)) is not None}
        (folder / "generation_config.json").write_text(json.dumps({**told, **dict.fromkeys(_ENDS)}))


def _beside(config: Any, tensors: Mapping[str, torch.Tensor], folder: Path) -> dict[str, Any]:
    """Writes what a pipeline needs beside the model, and gives what it is called with."""
    if "pixel_values" in tensors:
        height, width = tensors["pixel_values"].shape[-2:]
        size = {"size": {"height": height, "width": width}, "image_processor_type": "ViTImageProcessor"}
        (folder / "preprocessor_config.json").write_text(json.dumps({**_NORMAL, **_AROUND, **size}))
        return {"image": [width, height]}
    made = _tokenizer(config, folder)
    if "input_features" in tensors:
        return {"samples": _hearing(folder, *tensors["input_features"].shape[-2:])}
    if "input_values" in tensors:
        values = {**_AUDIO, "sampling_rate": RATE, "do_normalize": True, "feature_size": 1, "padding_value": 0.0}
        (folder / "preprocessor_config.json").write_text(json.dumps(values))
        return {"samples": tensors["input_values"].shape[-1]}
    return {"texts": [" ".join(made.convert_ids_to_tokens(row)) for row in tensors["input_ids"].tolist()]}


def _hearing(folder: Path, bands: int, frames: int) -> int:
    """Writes the settings of Whisper's feature extractor, and gives how many samples have this many frames."""
    samples = frames * _HOP
    values = {**_WHISPER, "feature_size": bands, "nb_max_frames": frames, "n_samples": samples}
    (folder / "preprocessor_config.json").write_text(json.dumps({**values, "chunk_length": samples / RATE}))
    return samples


def _tokenizer(config: Any, folder: Path) -> Any:
    values = config.to_dict()
    longest = {"longest": 1 << 20, "around": []}  # neither cut nor enclosed: a text has just the ids that it stands for
    made = tokenizers.make(tokenizers.config_for(values) | longest)
    made.save_pretrained(folder)
    if config.model_type == WHISPER:  # its pipeline asks for a tokenizer of its own class
        told = json.loads((folder / _WORDS).read_text())
        (folder / _WORDS).write_text(json.dumps({**told, "tokenizer_class": "WhisperTokenizer"}))
    return made

"""Writes a model with an encoder as transformers.js runs it: one graph for the encoder, and one with free axes for the
decoder, whose own past grows (`growing`). What cross-attention reads of the encoder is made again for each token.

The check encodes and continues as the library does, on ONNX Runtime's CPU.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import onnx_ir
import torch
from transformers import DynamicCache, EncoderDecoderCache
from transformers.modeling_outputs import BaseModelOutput

from assay_runner.engines.web import growing
from assay_runner.errors import ExportFailed, WrongExport
from assay_runner.exporting import comparison, encoder_decoder, exporters, steps, traces, trying, writing
from assay_runner.exporting.call import Subject
from assay_runner.exporting.graph import Graph
from assay_runner.exporting.quieting import quiet
from assay_runner.process import blame
from assay_runner.subjects import generation
from assay_runner.subjects.generation import PROMPT
from assay_runner.subjects.outputs import Tensors
from assay_runner.subjects.wrapping import Wrapped

ENCODER, DECODER = "encoder_model.onnx", "decoder_model_merged.onnx"  # as the library calls them
HIDDEN, STATES, SEEN = "last_hidden_state", "encoder_hidden_states", "encoder_attention_mask"
_PAST = "past_key_values"


class Encoder(Wrapped):
    """What is computed once."""

    def forward(self, **given: torch.Tensor) -> Tensors:
        """What the decoder reads."""
        return {HIDDEN: self.model.get_encoder()(**given, return_dict=True).last_hidden_state}


class Decoder(Wrapped):
    """What is computed for new ids after any number of past ones."""

    def forward(self, input_ids: torch.Tensor, past_key_values: DynamicCache, **read: torch.Tensor) -> dict[str, Any]:
        """Logits, and the past with the new ids in it."""
        past = EncoderDecoderCache(past_key_values, DynamicCache())
        encoded = BaseModelOutput(last_hidden_state=read[STATES])
        out = self.model(
            decoder_input_ids=input_ids,
            encoder_outputs=encoded,
            attention_mask=read.get(SEEN),
            past_key_values=past,
            use_cache=True,
        )
        return {"logits": out.logits, _PAST: out.past_key_values.self_attention_cache}


def write(subject: Subject, folder: Path) -> tuple[Graph, list[list[int]]]:
    """Writes both graphs for a model that continues texts (`programs.continuing`), and gives the ids that its decoder
    begins with."""
    model = subject.model.model
    read = {name: t for name, t in subject.tensors.items() if name != encoder_decoder.IDS}
    try:
        with quiet():
            begun = encoder_decoder.parts(model, subject.tensors).encoded[PROMPT]
            encoder = _encoder(model, read, subject, folder)
            decoder = _decoder(model, read, begun)
    except (ExportFailed, WrongExport):
        raise
    except Exception as error:  # noqa: BLE001 - exporters raise anything
        if blamed := blame.blamed(error):
            raise blamed from error
        place, said = traces.where(error), traces.line(error)
        raise ExportFailed(f"the decoder could not be written with its past as an input: {said}", place) from error
    done = steps.apply(decoder)
    writing.save(decoder, folder, DECODER)
    check = _check(folder, subject, begun.numpy())
    if not check["pass"]:
        raise WrongExport("the logits of encoder and decoder one after the other are not the model's", check["max_rel"])
    graph = Graph(
        file=DECODER,
        opset=decoder.opset_imports[""],
        inputs=writing.told(subject.tensors),
        outputs=writing.told(subject.expected),
        exporter=exporters.TRANSFORMERS.name(),
        steps=steps.joined(encoder.steps, done),
        tried=encoder.tried,
        operators=writing.operators(decoder),
        check=check,
    )
    return graph, begun.tolist()


def _encoder(model: Any, read: Mapping[str, torch.Tensor], subject: Subject, folder: Path) -> Graph:
    stage = Encoder(model)
    with torch.no_grad():
        expected = stage(**read)
    made = trying.first_good(Subject(stage, read, {}, expected, subject.options), folder)
    writing.save(onnx_ir.load(folder / made.file), folder, ENCODER)
    for name in (writing.FILE, writing.WEIGHTS):
        (folder / name).unlink(missing_ok=True)
    return made


def _decoder(model: Any, read: Mapping[str, torch.Tensor], begun: torch.Tensor) -> onnx_ir.Model:
    """The decoder's graph, traced with some ids before and some after."""
    from transformers.exporters.exporter_onnx import OnnxConfig, OnnxExporter

    stage = Decoder(model)
    given = {STATES: Encoder(model)(**read)[HIDDEN].detach()}
    given |= {SEEN: read["attention_mask"]} if "attention_mask" in read else {}
    with torch.no_grad():
        past = stage(begun, DynamicCache(), **given)[_PAST]
    traced = {"input_ids": torch.cat([begun[:, -1:]] * 2, 1), **given, _PAST: past}
    graph = OnnxExporter().export(stage, traced, OnnxConfig(dynamic=True)).model
    for value in (*graph.graph.inputs, *graph.graph.outputs):
        value.name = growing.named(str(value.name), output=value.is_graph_output(), part="decoder.")
    growing.pin(graph, past)
    return graph


def _check(folder: Path, subject: Subject, begun: np.ndarray) -> dict[str, Any]:
    import onnxruntime as ort

    encoder, decoder = (
        ort.InferenceSession(str(folder / name), providers=["CPUExecutionProvider"]) for name in (ENCODER, DECODER)
    )
    made = continued(encoder, decoder, {n: t.numpy() for n, t in subject.tensors.items()}, begun)
    return comparison.continued(f"onnxruntime {ort.__version__}", made, subject.expected)


def continued(encoder: Any, decoder: Any, given: Mapping[str, np.ndarray], begun: np.ndarray) -> dict[str, np.ndarray]:
    """Makes a text of what the encoder reads, after the ids that it begins with, on sessions of ONNX Runtime."""
    (hidden,) = encoder.run([HIDDEN], {i.name: given[i.name] for i in encoder.get_inputs()})
    beside = {STATES: hidden} | ({SEEN: given["attention_mask"]} if "attention_mask" in given else {})
    return growing.continued(decoder, begun, generation.NEW_TOKENS, beside)

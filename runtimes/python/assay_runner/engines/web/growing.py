"""Writes a language model as one graph with free axes: any number of new tokens after any number of past ones, and the
past one longer after each. This is the form in which transformers.js, like most of the ecosystem, runs language models.

transformers takes the model apart and exports it; the past gets the names that the ecosystem gave it. The check begins
with an empty past and continues the same prompt on ONNX Runtime's CPU.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import onnx_ir

from assay_runner.errors import ExportFailed, WrongExport
from assay_runner.exporting import comparison, exporters, prompts, steps, traces, writing
from assay_runner.exporting.call import Subject
from assay_runner.exporting.graph import Graph
from assay_runner.exporting.quieting import quiet
from assay_runner.process import blame
from assay_runner.subjects import generation, streams

STAGE = "decode"  # the part that takes any number of new tokens after any number of past ones
IDS, POSITIONS, MASK, LOGITS = "input_ids", "position_ids", "attention_mask", "logits"
PAST, PRESENT = "past_key_values.", "present."

_KEPT = re.compile(r"(?:(input|output)\.)?past_key_values\.layers\.(\d+)\.(key|value)s")


def write(subject: Subject, folder: Path) -> Graph:
    """Writes folder/model.onnx for a model that continues texts (`programs.continuing`)."""
    prompts.refuse_more(subject.tensors, "generation by transformers.js")
    try:
        with quiet():
            model = _exported(subject)
    except Exception as error:  # noqa: BLE001 - exporters raise anything
        if blamed := blame.blamed(error):
            raise blamed from error
        place, said = traces.where(error), traces.line(error)
        raise ExportFailed(f"the model could not be written with its past as an input: {said}", place) from error
    done = steps.apply(model)
    writing.write(model, folder)
    check = _check(folder / writing.FILE, subject)
    if not check["pass"]:
        raise WrongExport("the logits of the graph with a growing past are not the model's", check["max_rel"])
    return Graph(
        file=writing.FILE,
        opset=model.opset_imports[""],
        inputs=writing.told({IDS: subject.tensors[IDS]}),
        outputs=writing.told(subject.expected),
        exporter=exporters.TRANSFORMERS.name(),
        steps=done,
        tried=[],
        operators=writing.operators(model),
        check=check,
    )


def _exported(subject: Subject) -> onnx_ir.Model:
    from transformers.exporters.exporter_onnx import OnnxConfig, OnnxExporter
    from transformers.exporters.utils import decompose_for_generation

    parts = decompose_for_generation(subject.model.model, {IDS: subject.tensors[IDS]}, multi_token_decode=True)
    part, given = parts[STAGE]
    model = OnnxExporter().export(part, dict(given), OnnxConfig(dynamic=True)).model
    for value in (*model.graph.inputs, *model.graph.outputs):
        value.name = named(str(value.name), output=value.is_graph_output())
    pin(model, given["past_key_values"])
    return model


def pin(model: onnx_ir.Model, cache: Any) -> None:
    """Gives the past's inputs the numbers of heads and channels: an exporter leaves free what no layer insists on."""
    for value in model.graph.inputs:
        if not str(value.name).startswith(PAST) or value.shape is None:
            continue
        layer = cache.layers[int(str(value.name).split(".")[1])]
        heads, channels = layer.keys.shape[1], (layer.keys if value.name.endswith("key") else layer.values).shape[3]
        value.shape = onnx_ir.Shape([value.shape[0], heads, value.shape[2], channels])


def named(name: str, output: bool, part: str = "") -> str:
    """The name that the ecosystem has for an input or output that transformers' exporter named; with an encoder it says
    whose past it is."""
    found = _KEPT.fullmatch(name)
    return name if found is None else f"{PRESENT if output else PAST}{found[2]}.{part}{found[3]}"


def _check(file: Path, subject: Subject) -> dict[str, Any]:
    import onnxruntime as ort

    session = ort.InferenceSession(str(file), providers=["CPUExecutionProvider"])
    made = continued(session, subject.tensors[IDS].numpy(), subject.expected[generation.IDS].shape[1])
    return comparison.continued(f"onnxruntime {ort.__version__}", made, subject.expected)


def continued(
    session: Any, ids: np.ndarray, new: int, beside: Mapping[str, np.ndarray] | None = None
) -> dict[str, np.ndarray]:
    """Continues a prompt by this many tokens, on a session of ONNX Runtime; what stands beside is read in each step."""
    read = {given.name: given.shape for given in session.get_inputs()}
    outputs = [out.name for out in session.get_outputs()]
    past = {n: np.zeros([len(ids), s[1], 0, s[3]], np.float32) for n, s in read.items() if n.startswith(PAST)}

    def step(ids: np.ndarray, seen: int) -> np.ndarray:
        own = {
            IDS: ids,
            POSITIONS: np.broadcast_to(np.arange(seen, seen + ids.shape[1]), ids.shape).copy(),
            MASK: np.ones((len(ids), seen + ids.shape[1]), np.int64),
            **(beside or {}),
        }
        found = dict(zip(outputs, session.run(outputs, {n: {**own, **past}[n] for n in read}), strict=True))
        past.update({PAST + n.removeprefix(PRESENT): t for n, t in found.items() if n.startswith(PRESENT)})
        return found[LOGITS][:, -1]

    clock = streams.Clock()
    clock.begin()
    return generation.greedy(step, ids, new, clock)

"""Writes a language model as two graphs of fixed shapes, for engines that compile for nothing else.

`prefill` reads the prompt, and what a model reads beside it such as an image, and gives the cache. `decode` reads one
token and the cache and gives it back with one token more (`greedy`). Both are traced from the model's own forward,
which is given a cache that adds what is new at its place; each is checked as every graph is, and both together must
continue the prompt as torch does.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import torch

from assay_runner.engines.qnn import greedy, slots
from assay_runner.engines.qnn.greedy import DECODE, PAST, PREFILL
from assay_runner.errors import BeyondAssay, WrongExport
from assay_runner.exporting import comparison, prompts, steps, trying, writing
from assay_runner.exporting.call import Subject
from assay_runner.exporting.graph import Graph
from assay_runner.subjects import generation, streams
from assay_runner.subjects.outputs import Tensors
from assay_runner.subjects.replacing import replaced

Forward = Callable[..., Tensors]

_HOW = "generation on QNN"


def write(subject: Subject, folder: Path) -> Graph:
    """Writes folder/prefill/model.onnx and folder/decode/model.onnx for a model that continues texts
    (`programs.continuing`)."""
    model = subject.model.model
    if model.config.is_encoder_decoder:
        raise BeyondAssay(f"{_HOW} is for models without an encoder: Assay writes no graphs of one that has it")
    prompts.refuse_others(subject.tensors, _HOW)
    ids, beside = subject.tensors["input_ids"], prompts.beside(subject.tensors)
    prompts.refuse_longer(ids.shape[1], _kept(subject), _HOW)
    new = subject.expected[generation.IDS].shape[1]
    places = ids.shape[1] + new
    first = _tensors(greedy.asked(ids.numpy(), 0, places)) | beside
    prefill, made = _stage(model, slots.reading(model, places), first, subject, folder / PREFILL)
    later = _tensors(greedy.asked(made[generation.LOGITS].argmax(-1)[:, None].numpy(), ids.shape[1], places))
    later["slot"] = torch.from_numpy(greedy.slot(ids.shape[1], places))
    later |= {PAST + name: t for name, t in made.items() if name != generation.LOGITS}
    decode, _ = _stage(model, slots.adding(model), later, subject, folder / DECODE)
    check = _check(folder, subject, new)
    if not check["pass"]:
        raise WrongExport("the graphs with a cache of fixed size do not continue as the model does", check["max_rel"])
    return _joined(prefill, decode, subject, check)


def _stage(
    model: torch.nn.Module, forward: Forward, tensors: Tensors, subject: Subject, folder: Path
) -> tuple[Graph, Tensors]:
    """One graph, and what the model gives where it is traced."""
    folder.mkdir()
    with replaced(model, "forward", lambda own: forward):
        with torch.no_grad():
            expected = forward(**tensors)
        stage = Subject(model, tensors, {}, expected, subject.options)
        return trying.first_good(stage, folder), expected


def _kept(subject: Subject) -> int:
    """How many places of the past the model keeps of its prompt."""
    with torch.no_grad():
        return subject.model.model(**subject.tensors, use_cache=True).past_key_values.get_seq_length()


def _tensors(arrays: Mapping[str, Any]) -> dict[str, torch.Tensor]:
    return {name: torch.from_numpy(array) for name, array in arrays.items()}


def _check(folder: Path, subject: Subject, new: int) -> dict[str, Any]:
    """The same prompt, continued by ONNX Runtime."""
    import onnxruntime

    def stage(name: str) -> greedy.Stage:
        session = onnxruntime.InferenceSession(folder / name / writing.FILE, providers=["CPUExecutionProvider"])
        names = [output.name for output in session.get_outputs()]
        taken = {given.name for given in session.get_inputs()}
        return lambda given: dict(
            zip(names, session.run(None, {n: a for n, a in given.items() if n in taken}), strict=True)
        )

    ids = subject.tensors["input_ids"].numpy()
    beside = {name: t.numpy() for name, t in prompts.beside(subject.tensors).items()}
    made = greedy.continued(stage(PREFILL), stage(DECODE), ids, new, streams.Clock(), beside)
    return comparison.continued(f"onnxruntime {onnxruntime.__version__}", made, subject.expected)


def _joined(prefill: Graph, decode: Graph, subject: Subject, check: dict[str, Any]) -> Graph:
    """Both graphs as one: what goes into a generation and comes out of it."""
    return Graph(
        file=f"{PREFILL}/{prefill.file}",
        opset=decode.opset,
        inputs=writing.told(subject.tensors),
        outputs=writing.told(subject.expected),
        exporter=decode.exporter,
        steps=steps.joined(prefill.steps, decode.steps),
        tried=prefill.tried + decode.tried,
        operators=dict(sorted((Counter(prefill.operators) + Counter(decode.operators)).items())),
        check=check,
    )

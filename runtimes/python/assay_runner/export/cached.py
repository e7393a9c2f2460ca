"""Writes a language model as two graphs of fixed shapes, for engines that keep its past between calls: the prompt,
which goes through once, and the step, which takes one token more.

The past has a fixed number of slots, filled from the right. A step reads all of them, and its attention mask hides
those that are still empty; it gives the past moved by one slot to the left, with the new token in the last one. So what
a step gives is what the next one reads: it never leaves the device, no shape changes, nothing is compiled again.
The check continues the same prompt on ONNX Runtime's CPU and compares each step with torch's.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from inspect import signature
from pathlib import Path
from typing import Any

import numpy as np
import torch
from transformers import DynamicCache, PreTrainedModel

from assay_runner import generation
from assay_runner.errors import ExportFailed, WrongExport
from assay_runner.export import checking, trying, writing
from assay_runner.export.graph import Graph
from assay_runner.export.subject import Subject
from assay_runner.outputs import Tensors

PROMPT = "prompt"  # the folder of the graph that runs once
IDS, MASK, LOGITS = "input_ids", "attention_mask", "logits"
PLACE = "place"  # how many tokens stand before: under a name of its own, as it is not the layout of a fixed input
PAST, PRESENT = "past_", "present_"  # what a step reads of the past, and what it gives as the next one's

_OF_MODEL = {IDS: IDS, MASK: MASK, PLACE: "position_ids"}
"""An input of a step → what the model calls it."""

_READ = {IDS, MASK}  # inputs of models that continue a text; a mask of a prompt without padding says nothing


class Prompt(torch.nn.Module):
    """What is computed once."""

    def __init__(self, model: PreTrainedModel, slots: int) -> None:
        super().__init__()
        self.model, self._slots = model, slots
        self._call = _called(model)

    @property
    def config(self) -> Any:
        """The model's own."""
        return self.model.config

    def forward(self, **given: torch.Tensor) -> Tensors:
        """The logits after the prompt, and the past with the prompt in its last slots."""
        out = self.model(**given, **self._call)
        past = {name: self._padded(t) for name, t in _layers(out).items()}
        return {LOGITS: out.logits[:, -1], **past}

    def _padded(self, tensor: torch.Tensor) -> torch.Tensor:
        empty = tensor.new_zeros(*tensor.shape[:2], self._slots - tensor.shape[2], tensor.shape[3])
        return torch.cat([empty, tensor], 2)


class Step(torch.nn.Module):
    """What is computed for each token."""

    def __init__(self, model: PreTrainedModel) -> None:
        super().__init__()
        self.model = model
        self._call = _called(model)

    @property
    def config(self) -> Any:
        """The model's own."""
        return self.model.config

    def forward(self, **given: torch.Tensor) -> Tensors:
        """The logits after the token, and the past with it."""
        kept = [t for name, t in given.items() if name.startswith(PAST)]
        plain = {_OF_MODEL[name]: t for name, t in given.items() if not name.startswith(PAST)}
        past = DynamicCache(list(zip(kept[::2], kept[1::2], strict=True)))
        out = self.model(**plain, past_key_values=past, **self._call)
        return {LOGITS: out.logits[:, -1], **{n: t[:, :, 1:] for n, t in _layers(out).items()}}


@dataclass(frozen=True)
class Pair:
    """Sessions of ONNX Runtime for both graphs."""

    prompt: Any
    step: Any

    def continued(self, ids: np.ndarray, new: int) -> dict[str, np.ndarray]:
        """Continues a prompt by so many tokens."""
        outputs = [out.name for out in self.step.get_outputs()]
        read = [given.name for given in self.step.get_inputs()]
        kept: list[np.ndarray] = []

        def step(ids: np.ndarray, past: int) -> np.ndarray:
            if past == 0:
                found = self.prompt.run(outputs, {IDS: ids})
            else:
                own = {PAST + name.removeprefix(PRESENT): t for name, t in zip(outputs[1:], kept, strict=True)}
                own |= beside(ids, past, kept[0].shape[2])
                found = self.step.run(outputs, {name: own[name] for name in read})
            kept[:] = found[1:]
            return found[0]

        clock = generation.Clock()
        clock.begin()
        return generation.greedy(step, ids, new, clock)


def beside(ids: np.ndarray, past: int, slots: int) -> dict[str, np.ndarray]:
    """What a step reads beside the past that it is given."""
    mask = np.zeros((len(ids), slots + 1), np.int64)
    mask[:, slots - past :] = 1
    return {IDS: ids, MASK: mask, PLACE: np.full(ids.shape, past, np.int64)}


def write(subject: Subject, folder: Path) -> Graph:
    """Writes folder/model.onnx, a step, and folder/prompt/model.onnx for a model that continues texts
    (`programs.continuing`)."""
    model = subject.model.model
    if model.config.is_encoder_decoder or not set(subject.tensors) <= _READ or IDS not in subject.tensors:
        raise ExportFailed("generation by two graphs goes for models that continue a text: this one reads more")
    ids = subject.tensors[IDS]
    new = subject.expected[generation.IDS].shape[1]
    prompt, step = Prompt(model, ids.shape[1] + new), Step(model)
    first = Subject(prompt, {IDS: ids}, {}, _ran(prompt, {IDS: ids}), subject.options)
    given = _given(model, first.expected, ids.shape[1])
    later = Subject(step, given, {}, _ran(step, given), subject.options)
    (folder / PROMPT).mkdir()
    once, each = trying.first_good(first, folder / PROMPT), trying.first_good(later, folder)
    check = _check(folder, once.file, each.file, subject)
    if not check["pass"]:
        raise WrongExport("the logits that both graphs give one after the other are not the model's", check["max_rel"])
    return Graph(
        file=each.file,
        opset=each.opset,
        inputs=writing.told({IDS: ids}),
        outputs=writing.told(subject.expected),
        exporter=each.exporter,
        steps=_joined(once.steps, each.steps),
        tried=[*once.tried, *each.tried],
        operators=each.operators,
        check=check,
        encoder={"file": f"{PROMPT}/{once.file}", "inputs": once.inputs, "outputs": once.outputs},
    )


def _called(model: PreTrainedModel) -> dict[str, Any]:
    last = {"logits_to_keep": 1} if "logits_to_keep" in signature(model.forward).parameters else {}
    return {"use_cache": True, "return_dict": True, **last}


def _layers(out: Any) -> Tensors:
    """Keys and values of each layer, in turns."""
    cache = getattr(out, "past_key_values", None)
    layers = getattr(cache, "layers", None) or []
    if not isinstance(cache, DynamicCache) or any(getattr(layer, "keys", None) is None for layer in layers):
        raise ExportFailed("what this model keeps of the past is more, or other, than keys and values of its layers")
    return {
        f"{PRESENT}{i}_{what}": getattr(layer, what) for i, layer in enumerate(layers) for what in ("keys", "values")
    }


def _ran(module: torch.nn.Module, given: Mapping[str, torch.Tensor]) -> Tensors:
    with torch.no_grad():
        return {name: t.clone() for name, t in module(**given).items()}


def _given(model: PreTrainedModel, first: Tensors, length: int) -> dict[str, torch.Tensor]:
    """The inputs of the first step."""
    slots = next(t for name, t in first.items() if name.startswith(PRESENT)).shape[2]
    own = beside(first[LOGITS].argmax(-1)[:, None].numpy(), length, slots)
    known = signature(model.forward).parameters
    past = {PAST + name.removeprefix(PRESENT): t for name, t in first.items() if name.startswith(PRESENT)}
    return {name: torch.from_numpy(array) for name, array in own.items() if _OF_MODEL[name] in known} | past


def _check(folder: Path, once: str, each: str, subject: Subject) -> dict[str, Any]:
    import onnxruntime as ort

    sessions = (
        ort.InferenceSession(str(f), providers=["CPUExecutionProvider"])
        for f in (folder / PROMPT / once, folder / each)
    )
    made = Pair(*sessions).continued(subject.tensors[IDS].numpy(), subject.expected[generation.IDS].shape[1])
    return checking.continued(f"onnxruntime {ort.__version__}", made, subject.expected)


def _joined(*parts: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The steps of both graphs, each once with the sum of its counts."""
    total: dict[str, dict[str, Any]] = {}
    for row in (row for part in parts for row in part):
        known = total.setdefault(row["name"], {**row, "count": 0})
        known["count"] += row["count"]
    return list(total.values())

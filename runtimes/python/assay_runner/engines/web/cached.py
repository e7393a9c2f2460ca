"""Writes a language model as two graphs of fixed shapes, for engines that keep its past between calls: the prompt,
which goes through once, and the step, which takes one token more (`stages`; `encoder_stages` with an encoder).

What a step gives is what the next one reads: it never leaves the device, no shape changes, nothing is compiled again.
The check continues the same prompt on ONNX Runtime's CPU and compares each step with torch's.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from assay_runner.engines.web import encoder_stages, stages
from assay_runner.engines.web.stages import LOGITS, PAST, PRESENT, Stages, beside
from assay_runner.errors import BeyondAssay, ExportFailed, WrongExport
from assay_runner.exporting import comparison, steps, traces, trying, writing
from assay_runner.exporting.call import Subject
from assay_runner.exporting.graph import Graph
from assay_runner.process import blame
from assay_runner.subjects import generation, streams
from assay_runner.subjects.outputs import Tensors

PROMPT = "prompt"  # the folder of the graph that runs once


@dataclass(frozen=True)
class Pair:
    """Sessions of ONNX Runtime for both graphs."""

    prompt: Any
    step: Any

    def continued(self, feeds: Mapping[str, np.ndarray], new: int) -> dict[str, np.ndarray]:
        """Makes this many tokens from what is given."""
        read = {given.name: given.shape for given in self.step.get_inputs()}
        slots = next(shape[2] for name, shape in read.items() if name.startswith(PAST))
        kept: dict[str, np.ndarray] = {}

        def step(ids: np.ndarray, before: int) -> np.ndarray:
            own = beside(ids, before, slots) | kept if kept else feeds
            session = self.step if kept else self.prompt
            kept.update(_handed_on(_ran(session, own)))
            return kept.pop(LOGITS)

        batch = next(iter(feeds.values())).shape[0]
        begun = np.zeros((batch, slots - new), np.int64)  # as long as what the first graph begins with
        clock = streams.Clock()
        clock.begin()
        return generation.greedy(step, begun, new, clock)


def _ran(session: Any, given: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    names = [out.name for out in session.get_outputs()]
    return dict(zip(names, session.run(names, {i.name: given[i.name] for i in session.get_inputs()}), strict=True))


def _handed_on(made: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """What a graph gave, by the names under which the next one reads it."""
    return {PAST + n.removeprefix(PRESENT) if n.startswith(PRESENT) else n: a for n, a in made.items()}


def write(subject: Subject, folder: Path) -> Graph:
    """Writes folder/model.onnx, a step, and folder/prompt/model.onnx for a model that continues texts
    (`programs.continuing`)."""
    parts, stepped = _taken_apart(subject)
    later = Subject(parts.step, parts.later, {}, stepped, subject.options)
    each = trying.first_good(later, folder)
    first = Subject(parts.prompt, parts.given, {}, _read(parts.opened, each), subject.options)
    (folder / PROMPT).mkdir()
    once = trying.first_good(first, folder / PROMPT)
    check = _check(folder, once.file, each.file, subject)
    if not check["pass"]:
        raise WrongExport("the logits that both graphs give one after the other are not the model's", check["max_rel"])
    return Graph(
        file=each.file,
        opset=each.opset,
        inputs=once.inputs,
        outputs=writing.told(subject.expected),
        exporter=each.exporter,
        steps=steps.joined(once.steps, each.steps),
        tried=[*once.tried, *each.tried],
        operators=each.operators,
        check=check,
        encoder={"file": f"{PROMPT}/{once.file}", "inputs": once.inputs, "outputs": once.outputs},
    )


def _taken_apart(subject: Subject) -> tuple[Stages, Tensors]:
    """Both stages, and what the first step gives."""
    model, new = subject.model.model, subject.expected[generation.IDS].shape[1]
    take = encoder_stages.of_encoder if model.config.is_encoder_decoder else stages.of_text
    try:
        parts = take(model, subject.tensors, new)
        return parts, stages.ran(parts.step, parts.later)
    except (BeyondAssay, ExportFailed):
        raise
    except Exception as error:  # noqa: BLE001 - models raise anything where they are called in another way
        if blamed := blame.blamed(error):
            raise blamed from error
        place, said = traces.where(error), traces.line(error)
        raise ExportFailed(f"the model could not be taken apart into its prompt and a step: {said}", place) from error


def _read(opened: Tensors, step: Graph) -> Tensors:
    """What is wanted of the prompt: logits, the past, and what the step's graph reads beside."""
    names = {row["name"] for row in step.inputs}
    return {name: t for name, t in opened.items() if name in names or name.startswith((LOGITS, PRESENT))}


def _check(folder: Path, once: str, each: str, subject: Subject) -> dict[str, Any]:
    import onnxruntime as ort

    sessions = (
        ort.InferenceSession(str(f), providers=["CPUExecutionProvider"])
        for f in (folder / PROMPT / once, folder / each)
    )
    feeds = {name: t.numpy() for name, t in subject.tensors.items()}
    made = Pair(*sessions).continued(feeds, subject.expected[generation.IDS].shape[1])
    return comparison.continued(f"onnxruntime {ort.__version__}", made, subject.expected)

"""Pipelines on torch: the mode `pipeline`.

A sample goes from raw material (texts, pictures, sounds) to an answer: the type's processors make the inputs, the model
runs, and the answer is read off its outputs on the host. The check is that of mode `infer` with inputs that were read,
and beside it what the processors gave against their rules written out, and the answer against the one that the
reference's outputs give. Whole requests are the latency; afterwards the three parts are timed, the device awaited
after each.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from assay_runner.engines import timing
from assay_runner.engines.torch import loops
from assay_runner.process import linux
from assay_runner.subjects import outputs
from assay_runner.subjects.natural import answers, readers
from assay_runner.subjects.natural.requests import Arrays, Read
from assay_runner.subjects.natural.spoken import Tokens, ends
from assay_runner.subjects.outputs import Tensors
from assay_runner.subjects.programs import building

if TYPE_CHECKING:
    from assay_runner.engines.torch.engine import Session

MODE = "pipeline"
INSIDE = "material read by processors, inputs moved to the device, forward, outputs brought back, answer"


def reader(session: Session, point: Mapping[str, Any], seed: int) -> readers.Reader:
    """What makes a point's inputs of material."""
    given = (session.job.get("weights") or {}).get("folder")
    return readers.make(session.recipe, point, seed, session.dtype, given)


@dataclass
class Pipeline:
    """A model between its processors and its answer."""

    session: Session
    model: torch.nn.Module
    reader: readers.Reader

    def preprocess(self, _: Any = None) -> Tensors:
        """Material to inputs on the device."""
        return self.session.placed(self.reader.read())

    def forward(self, given: Tensors) -> tuple[Tensors, Tensors]:
        """The model."""
        return given, outputs.flatten(self.model(**given, **self.session.recipe.get("call", {})))

    def postprocess(self, both: tuple[Tensors, Tensors]) -> list[Any]:
        """Outputs to answers on the host, one for each row."""
        return self.answers(*both)

    def answers(self, given: Mapping[str, torch.Tensor], found: Mapping[str, torch.Tensor]) -> list[Any]:
        """What the outputs mean, row by row of the batch."""
        row = self.row(found)
        arrays, read = _arrays(found), _arrays(given)
        config = self.reader.config.to_dict()
        words = Tokens(self.reader.tokenizer, ends(config)) if self.reader.tokenizer is not None else None
        size = next((part.size for part in self.reader.parts if part.size), None)
        count = next(iter(read.values())).shape[0] if row.together else 1
        made = []
        for index in range(count):
            mine = _row(read, index, count)
            length = mine["input_ids"].shape[-1] if "input_ids" in mine else 0
            texts = tuple(text for part in self.reader.parts if part.kind == "text" for text in part.material)
            made.append(
                row.answer(answers.Seen(_row(arrays, index, count), Read(mine, texts, length, size), words, config))
            )
        return made

    def row(self, found: Mapping[str, Any]) -> answers.Row:
        """How the task is answered."""
        task = self.session.recipe.get("task") or ""
        row = answers.of(task, list(found))
        if row is answers.ARRAYS and task in answers.GENERATES and "logits" in found:
            return answers.NEXT
        return row

    def whole(self) -> None:
        """One request."""
        self.postprocess(self.forward(self.preprocess()))


def _arrays(tensors: Mapping[str, torch.Tensor]) -> Arrays:
    return {n: (t.float() if t.is_floating_point() else t).cpu().numpy() for n, t in tensors.items()}


def _row(arrays: Arrays, index: int, count: int) -> Arrays:
    """One row of what has as many rows as the batch."""
    return {n: a[index : index + 1] if a.ndim and a.shape[0] == count else a for n, a in arrays.items()}


# The check.


def told(
    session: Session, built: building.Built, point: Mapping[str, Any], found: Tensors, expected: Tensors | None
) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """What a report says of the pipeline, and how what stands around the model compares."""
    made = Pipeline(session, built.model, reader(session, point, session.seed))
    around = made.reader.compared()
    row = made.row(found)
    if expected is not None:
        given = made.reader.read()
        pair = made.answers(given, found), made.answers(given, expected)
        away = apart(*pair, ties=session.dtype is not torch.float32)
        floats = (t for t in expected.values() if t.is_floating_point() and t.numel())
        largest = max((float(t.abs().max()) for t in floats), default=1.0)
        limit = 2 * session.tolerance.most * max(1.0, largest)  # a share moves by as much as what is raised does
        around.append(readers.Around(f"the answer ({row.about})", away, away is not None and away <= limit))
    rows = [one.report() for one in around]
    about = {"reads": made.reader.about(), "answers": row.about, "drawn": made.reader.given()}
    return about, rows


def apart(one: Any, other: Any, ties: bool = False) -> float | None:
    """How far two answers are apart: numbers of the largest, None where they say different things. With ties the best
    of two that are as good as each other may be either, as roundings decide."""
    if isinstance(one, (list, tuple)) and isinstance(other, (list, tuple)):
        if len(one) != len(other):
            return None
        if one and all(isinstance(row, dict) and "score" in row and "position" not in row for row in (*one, *other)):
            return _ranked(one, other)
        return _most(apart(a, b, ties) for a, b in zip(one, other, strict=True))
    if isinstance(one, dict) and isinstance(other, dict):
        if one.keys() != other.keys():
            return None
        if ties and "score" in one and one.get("id") != other.get("id"):
            return _number(one["score"], other["score"])
        return _most(apart(one[key], other[key], ties) for key in one)
    if isinstance(one, (np.ndarray, float)):
        return _number(one, other)
    return 0.0 if one == other else None


def _ranked(one: Any, other: Any) -> float | None:
    """Of rows that are told best first: scores by what they are of. What only one side tells is beside the last that
    the other does."""
    scores = {_key(row): row["score"] for row in other}
    least = min(scores.values())
    found = [_number([row["score"], 1.0], [scores.get(_key(row), least), 1.0]) for row in one]
    boxes = [apart(a["box"], b["box"]) for a, b in zip(one, other, strict=True) if "box" in a and _key(a) == _key(b)]
    return _most([*found, *boxes])


def _key(row: dict[str, Any]) -> tuple[Any, ...]:
    return row.get("id"), row.get("label")


def _number(one: Any, other: Any) -> float | None:
    a, b = np.asarray(one, np.float64), np.asarray(other, np.float64)
    if a.shape != b.shape or not np.isfinite(a).all():
        return None
    largest = float(np.abs(b).max()) if b.size else 0.0
    return float(np.abs(a - b).max()) / (largest or 1.0) if b.size else 0.0


def _most(found: Any) -> float | None:
    rows = list(found)
    return None if None in rows else max(rows, default=0.0)


# The timing.


def measure(session: Session, built: building.Built, point: Mapping[str, Any], rule: timing.Rule) -> dict[str, Any]:
    """Whole requests, then their parts."""
    emit, device = session.emit, session.device
    linux.reset_peak()
    with emit.in_phase("processor"):
        made = Pipeline(session, built.model, reader(session, point, session.seed))
    with session.device.inference(), timing.quiet():
        samples, timed = loops.timed(session, made.whole, rule)
        steps = {"preprocess": made.preprocess, "model": made.forward, "postprocess": made.postprocess}
        parts = timing.apart(steps, device.synchronize, timing.share(samples))
        device.empty_cache()
        device.reset_framework_peak()
        found = made.forward(made.preprocess())[1]
        device.synchronize()
        peak = device.framework_peak()
    report = session.report(built, point, found)
    report["memory"]["framework_peak_bytes"] = peak
    about = {"reads": made.reader.about(), "answers": made.row(found).about, "drawn": made.reader.given()}
    return report | timed | {"inputs_inside": INSIDE, "pipeline": {**about, "parts_ms": parts}}

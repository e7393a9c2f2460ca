"""A loaded model: natural inputs or named arrays in, natural outputs or named arrays out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any

import numpy as np
from transformers import GenerationMixin

from assay_runner.subjects import models
from assay_runner.subjects.natural import answers

from . import feeding
from .engines import Engine
from .errors import BadInput, Released, Unsupported, told
from .feeding import Arrays
from .loading import Placed
from .natural.reading import Read, Reader
from .subjects import SEED, Subject

NEW_TOKENS = 16
_DECODER = "decoder_input_ids"
_FRAMES = "ForCTC"  # the end of the names of classes that have one id for each frame, whatever they call generation


class Model:
    """What `assay.load` gives. It is used from one thread, and holds its memory until it is released."""

    def __init__(self, subject: Subject, asked: str, placed: Placed, reader: Reader, notes: Sequence[str] = ()) -> None:
        self._subject, self._asked, self._placed, self._reader = subject, asked, placed, reader
        self._notes = list(notes)
        self._open: Engine | None = placed.engine

    def run(self, x: Any = None, /, **named: Any) -> Any:
        """The natural output for a natural input (a text, a picture, a sound, or a dictionary of them by `text`,
        `image`, `video` and `audio`); for named tensors or arrays, the model's outputs by name."""
        if named and x is not None:
            raise BadInput("pass a natural input or named arrays, not both")
        if named:
            given, point = feeding.fitted(self._recipe, feeding.arrays(named), SEED, self._engine.fixed)
            return self._ran(given, point)
        if self._writes:
            return self.generate(x)
        return self._answer(self._reader.read(x))

    def batch(self, requests: Sequence[Any]) -> list[Any]:
        """The outputs of several inputs, in their order; together where their shapes are the same and the platform
        has no shapes compiled in."""
        if self._writes or self._engine.fixed or not self._in_rows:
            return [self.run(x) for x in requests]
        reads = [self._reader.read(x) for x in requests]
        if not _alike(reads):
            return [self._answer(read) for read in reads]
        joined = {name: np.concatenate([read.arrays[name] for read in reads]) for name in reads[0].arrays}
        outputs = self._ran(joined, {})
        if not self._row(outputs).together or any(array.shape[:1] != (len(reads),) for array in outputs.values()):
            return [self._answer(read) for read in reads]
        split = ({name: array[i : i + 1] for name, array in outputs.items()} for i in range(len(reads)))
        return [self._told(read, one) for read, one in zip(reads, split, strict=True)]

    def generate(self, x: Any = None, /, max_new_tokens: int = NEW_TOKENS, **named: Any) -> Any:
        """The text by which the model goes on, greedily; for named arrays, the ids of it."""
        if max_new_tokens < 1:
            raise BadInput("max_new_tokens must be at least one")
        if not self._generative:
            raise Unsupported(f"{self._recipe['class']} generates no text: its task is {self._recipe['task']}")
        if named:
            return self._continued(feeding.arrays(named), max_new_tokens, checked=True)
        ids = self._continued(self._reader.read(x, padded=False).arrays, max_new_tokens)[0].tolist()
        words = self._reader.words
        return words.decode(_until(ids, words.end)) if words else ids

    @property
    def modalities(self) -> tuple[str, ...]:
        """What a natural input is made of: text, image, video, audio."""
        return self._reader.modalities

    def example(self, batch: int = 1) -> Arrays:
        """The recipe's own inputs by name: `model.run(**model.example())`."""
        return feeding.drawn(self._recipe, {"batch": batch}, SEED)

    def settings(self) -> dict[str, Any]:
        """What runs where, and how it came there: in the words of the program's results."""
        recipe, placed, engine = self._recipe, self._placed, self._engine
        return {
            "model": self._subject.name,
            "type": recipe["type"],
            "class": recipe["class"],
            "task": recipe["task"],
            "family": self._subject.family,
            "checkpoint": recipe.get("checkpoint", ""),
            "size": recipe["size"],
            "weights": self._subject.weights,
            "seed": SEED,
            "parameters": engine.parameters,
            "asked": self._asked,
            "platform": placed.target.platform.platform,
            "engine": placed.target.platform.engine,
            "device": engine.device,
            "software": engine.software,
            "dtype": placed.dtype,
            "fallback": [step.report() for step in placed.steps],
            "versions": dict(engine.versions),
            "modalities": list(self._reader.modalities),
            "reading": self._reader.about,
            "notes": list(self._notes),
        }

    def release(self) -> None:
        """Gives the memory back. A second time does nothing."""
        if self._open is not None:
            self._open.close()
            self._open = None

    def __enter__(self) -> Model:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()

    def __repr__(self) -> str:
        where = self._placed.target if self._open else "released"
        return f"<assay.Model {self._subject.name}: {self._recipe['class']} on {where}, {self._placed.dtype}>"

    @property
    def _recipe(self) -> Mapping[str, Any]:
        return self._subject.recipe

    @property
    def _engine(self) -> Engine:
        if self._open is None:
            raise Released(f"{self._subject.name} was released: load it again")
        return self._open

    @property
    def _generative(self) -> bool:
        """Whether the model's class continues texts."""
        if self._recipe.get("program"):
            return False
        cls: Any = models.model_class(self._recipe)
        return issubclass(cls, GenerationMixin) and cls.can_generate() and not cls.__name__.endswith(_FRAMES)

    @property
    def _writes(self) -> bool:
        """Whether the natural output is a text that is generated."""
        return self._recipe["task"] in answers.GENERATES and self._generative

    @property
    def _in_rows(self) -> bool:
        """Whether every input has a row for each request, and a request's numbers do not depend on its neighbours: the
        noise of a pipeline does."""
        rows = (spec.get("per_batch") or spec.get("shape", [])[:1] == ["batch"] for spec in self._recipe["inputs"])
        return not self._recipe.get("program") and all(rows)

    def _answer(self, read: Read) -> Any:
        if not self._engine.fixed:
            return self._told(read, self._ran(read.arrays, {}))
        given, point = feeding.fitted(self._recipe, self._known(read.arrays), SEED, exact=True)
        return self._told(read, self._ran(given, point))

    def _told(self, read: Read, outputs: Arrays) -> Any:
        seen = answers.Seen(outputs, read, self._reader.words, self._reader.config)
        return self._row(outputs).answer(seen)

    def _row(self, outputs: Arrays) -> answers.Row:
        return answers.of(self._recipe["task"], list(outputs))

    def _known(self, given: Arrays) -> Arrays:
        """Those that the recipe knows: processors give more than a graph takes."""
        names = {spec["name"] for spec in self._recipe["inputs"]}
        return {name: array for name, array in given.items() if name in names}

    def _ran(self, given: Arrays, point: Mapping[str, int]) -> Arrays:
        engine = self._engine
        try:
            return engine.run(given, point)
        except Exception as error:
            raise told(error)[0] from error

    def _continued(self, given: Arrays, new: int, checked: bool = False) -> np.ndarray:
        engine, point = self._engine, dict[str, int]()
        given = {name: array for name, array in given.items() if name != _DECODER}  # which begins by itself
        if engine.fixed or checked:
            given = self._known(given) if engine.fixed else given
            specs = [spec for spec in self._recipe["inputs"] if spec["name"] != _DECODER]
            given, point = feeding.fitted({**self._recipe, "inputs": specs}, given, SEED, engine.fixed)
        try:
            return engine.generate(given, point, new)
        except Exception as error:
            raise told(error)[0] from error


def _alike(reads: Sequence[Read]) -> bool:
    """Whether requests can be joined: one row each, and the same shapes."""
    shapes = [{name: array.shape for name, array in read.arrays.items()} for read in reads]
    single = all(shape[:1] == (1,) for shape in shapes[0].values()) if shapes else False
    return single and all(shape == shapes[0] for shape in shapes)


def _until(ids: Sequence[int], end: frozenset[int]) -> list[int]:
    return list(ids[: next((i for i, one in enumerate(ids) if one in end), len(ids))])

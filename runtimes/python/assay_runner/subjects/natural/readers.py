"""Reads texts, pictures and sounds with the processors of a type: the library's own classes, made without files.

A tokenizer has a word for each id of the recipe, so that ids drawn for a text are what it must give back. A picture is
larger than the model's input, and resized; a sound has the length that gives the recipe's number of frames. Beside
weights that were given, the checkpoint's own tokenizer and processors read the same material where they are there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch

from assay_runner.errors import Unsuited
from assay_runner.subjects import inputs, models
from assay_runner.subjects.diffusion import tokenizers
from assay_runner.subjects.processors import finding, settings, words

from . import raw, written_out

Recipe = Mapping[str, Any]
Tensors = dict[str, torch.Tensor]
_RATE = 16000
_KINDS = {"input_ids": "text", "pixel_values": "image", "input_values": "audio", "input_features": "audio"}
"""Input → what it is made of."""

_FOLLOW = frozenset({"ones", "zeros", "range", "value"})
_USUAL = 0.05  # of the tolerance: what few numbers may be off by, all together may not
_FLOAT = 2e-3  # of the largest value: how far an extractor's float32 may be from float64


@dataclass(frozen=True)
class Around:
    """What was made of material, against its rule."""

    what: str
    max_rel: float | None = None
    passed: bool | None = None  # None: there is no rule to compare with

    def report(self) -> dict[str, Any]:
        """As the protocol has it."""
        return {"what": self.what, "max_rel": self.max_rel, "pass": self.passed}


@dataclass
class Part:
    """One input's processor, how it is called, and what it must give."""

    name: str
    kind: str
    processor: Any
    material: list[Any]
    call: Callable[[Any, Sequence[Any]], Mapping[str, Any]]
    expected: Callable[[], torch.Tensor | None]
    tolerance: float  # of ids none, of pixels as they are scaled, of sounds a share of the largest value
    size: tuple[int, int] | None = None  # width and height of a picture
    own: bool = False  # the checkpoint's

    def read(self) -> Mapping[str, Any]:
        """The inputs that are made of the material."""
        return self.call(self.processor, self.material)

    def about(self) -> str:
        """In words."""
        return f"{self.name} by {'its own ' * self.own}{type(self.processor).__name__}"


@dataclass
class Reader:
    """Makes the inputs of one point of a recipe out of material, again and again."""

    recipe: Recipe
    point: Mapping[str, Any]
    parts: list[Part]
    drawn: Tensors  # the inputs that no processor makes
    config: Any
    dtype: torch.dtype
    tokenizer: Any = None
    _names: frozenset[str] = field(default=frozenset())

    def read(self) -> Tensors:
        """The inputs, on the host."""
        found = dict(self.drawn)
        for part in self.parts:
            made = part.read()
            found |= {name: self._cast(made[name]) for name in made if name in self._names}
        return found

    def _cast(self, value: Any) -> torch.Tensor:
        tensor = value if isinstance(value, torch.Tensor) else torch.from_numpy(np.asarray(value))
        return tensor.to(self.dtype) if tensor.is_floating_point() else tensor

    def about(self) -> str:
        """What reads, in words."""
        return "; ".join(part.about() for part in self.parts)

    def given(self) -> list[str]:
        """The inputs that are drawn all the same, since nothing natural is made into them."""
        specs = {spec["name"]: spec for spec in self.recipe["inputs"]}
        return sorted(name for name in self.drawn if specs[name]["kind"] not in _FOLLOW)

    def compared(self) -> list[Around]:
        """What each processor gives, against its rule written out."""
        return [self._compared(part) for part in self.parts]

    def _compared(self, part: Part) -> Around:
        wanted = part.expected()
        if wanted is None:
            return Around(f"{part.name}, which {type(part.processor).__name__} makes")
        found = self._cast_home(part.read()[part.name])
        what = f"{part.name}, which {type(part.processor).__name__} makes"
        if found.shape != wanted.shape and getattr(part.processor, "do_pad", False):
            return Around(what)
        if found.shape != wanted.shape:
            return Around(f"{what} in shape {list(found.shape)} instead of {list(wanted.shape)}", None, False)
        largest = float(wanted.abs().max()) or 1.0
        error = (found.double() - wanted.double()).abs()
        limit = part.tolerance * (largest if part.kind == "audio" else 1.0)
        right = float(error.max()) <= limit and float(error.mean()) <= _USUAL * limit
        return Around(what, float(error.max()) / largest, right)

    @staticmethod
    def _cast_home(value: Any) -> torch.Tensor:
        return value if isinstance(value, torch.Tensor) else torch.from_numpy(np.asarray(value))


def make(recipe: Recipe, point: Mapping[str, Any], seed: int, dtype: torch.dtype, folder: str | None = None) -> Reader:
    """The reader of a point; Unsuited where no input is made of a text, a picture or a sound."""
    if recipe.get("program"):
        raise Unsuited(f"{recipe['class']} runs by a program, which reads for itself: it has no mode pipeline")
    config, drawn = models.config(recipe), inputs.make(recipe, point, seed, dtype)
    specs = {spec["name"]: spec for spec in recipe.get("inputs", [])}
    found = finding.classes(recipe, config)
    own = _own(folder)
    made: list[Part] = []
    for name, kind in _KINDS.items():
        if name in specs:
            about = _About(recipe, specs[name], point, f"{seed}/pipeline/{name}", found, config, drawn[name], own)
            made.append(_PARTS[kind](about))
    if not made:
        raise Unsuited(
            f"no input of {recipe['class']} is made of a text, a picture or a sound here: {', '.join(specs)}; "
            "use mode infer"
        )
    reader = Reader(recipe, point, made, {}, config, dtype, _names=frozenset(specs))
    reader.tokenizer = next((part.processor for part in made if part.kind == "text"), None)
    read = reader.read()
    for name in read:
        if read[name].shape != drawn[name].shape and not folder:
            raise Unsuited(
                f"the processor of {recipe['type']} gives {name} in shape {list(read[name].shape)}, and its tiny model "
                f"takes {list(drawn[name].shape)}"
            )
    reader.drawn = {name: tensor for name, tensor in drawn.items() if name not in read}
    return reader


@dataclass(frozen=True)
class _About:
    """What a part is made from."""

    recipe: Recipe
    spec: Mapping[str, Any]
    point: Mapping[str, Any]
    key: str
    found: Mapping[str, finding.Found]
    config: Any
    drawn: torch.Tensor
    own: Mapping[str, Any]

    def processor(self, kind: str) -> Any:
        """The checkpoint's, or one of the type's class, made without files."""
        if kind in self.own:
            return self.own[kind]
        if kind not in self.found:
            raise Unsuited(f"transformers names no processor for the {self.spec['name']} of {self.recipe['type']}")
        cls = self.found[kind].cls
        try:
            if kind == "text":
                return words.tokenizer(cls, self.config, frozenset(self.drawn.unique().tolist()))
            return cls(**settings.given(cls, self.recipe, self.config))
        except Exception as error:  # noqa: BLE001 - a class that needs files raises anything
            raise Unsuited(f"{cls.__name__} cannot be made without files: {error}") from error


def _text(about: _About) -> Part:
    if len(about.spec["shape"]) != 2 or about.spec["kind"] != "ids":
        raise Unsuited(f"the ids of {about.recipe['type']} are not those of a text")
    tokenizer, ids = about.processor("text"), about.drawn
    texts = [tokenizers.text(row) for row in ids.tolist()]
    own = "text" in about.own

    def call(processor: Any, material: Sequence[str]) -> Mapping[str, Any]:
        if own:
            fixed = {"padding": "max_length", "truncation": True, "max_length": ids.shape[1]}
            return processor(list(material), return_tensors="pt", **fixed)
        return processor(list(material), add_special_tokens=False, return_tensors="pt")

    return Part(about.spec["name"], "text", tokenizer, texts, call, lambda: None if own else ids, 0.0, own=own)


def _image(about: _About) -> Part:
    shape = about.drawn.shape
    if len(shape) != 4 or shape[1] != 3:
        raise Unsuited(f"the {about.spec['name']} of {about.recipe['type']} are not whole pictures: {list(shape)}")
    processor = _sized(about.processor("image"), shape[2], shape[3]) if "image" not in about.own else about.own["image"]
    pictures = raw.pictures(about.key, shape[0], *shape[2:])
    sides = pictures[0].shape[1], pictures[0].shape[0]

    def call(processor: Any, material: Sequence[np.ndarray]) -> Mapping[str, Any]:
        return processor(list(material), return_tensors="pt")

    return Part(
        about.spec["name"], "image", processor, pictures, call, lambda: written_out.pixels(processor, pictures),
        written_out.tolerance(processor), sides, own="image" in about.own,
    )  # fmt: skip


def _sized(processor: Any, height: int, width: int) -> Any:
    """The processor with the model's own size in place of a range of edges, in which it would choose by the picture."""
    size = dict(getattr(processor, "size", None) or {})
    if not (size.get("shortest_edge") and size.get("longest_edge")):
        return processor
    try:
        return type(processor)(size={"height": height, "width": width})
    except Exception:  # noqa: BLE001 - a class that takes ranges only says so in its own way
        return processor


def _audio(about: _About) -> Part:
    extractor, shape = about.processor("audio"), about.drawn.shape
    rate = int(getattr(extractor, "sampling_rate", 0) or _RATE)
    hop = int(getattr(extractor, "hop_length", 0) or 1)
    refused = []
    lengths = (shape[-1], shape[-1] * hop, shape[-2] * hop, (shape[-2] - 1) * hop, shape[-2] * hop + hop)
    for samples in lengths if len(shape) > 2 else lengths[:1]:
        waves = raw.sounds(about.key, shape[0], samples, rate)
        for more in ({"padding": "max_length", "max_length": samples}, {"padding": "longest"}, {}):

            def call(processor: Any, material: Sequence[np.ndarray], more: dict[str, Any] = more) -> Mapping[str, Any]:
                return processor(list(material), sampling_rate=rate, return_tensors="pt", **more)

            try:
                made = call(extractor, waves)
            except Exception as error:  # noqa: BLE001 - what an extractor does not take it refuses in its own way
                refused.append(str(error).splitlines()[0] if str(error) else type(error).__name__)
                continue
            if about.spec["name"] in made and tuple(made[about.spec["name"]].shape) == tuple(shape):

                def expected(waves: list[np.ndarray] = waves) -> torch.Tensor | None:
                    return written_out.sounds(extractor, waves)

                own = "audio" in about.own
                return Part(about.spec["name"], "audio", extractor, waves, call, expected, _FLOAT, own=own)
    raise Unsuited(
        f"{type(extractor).__name__} gives {about.spec['name']} of {list(shape)} for no length of sound"
        + (f": {refused[0]}" if refused else "")
    )


_PARTS: Mapping[str, Callable[[_About], Part]] = {"text": _text, "image": _image, "audio": _audio}


def _own(folder: str | None) -> dict[str, Any]:
    """What lies beside given weights: tokenizer and processors, by kind."""
    if not folder or not Path(folder).is_dir():
        return {}
    from transformers import AutoFeatureExtractor, AutoImageProcessor, AutoTokenizer

    found: dict[str, Any] = {}
    for kind, auto in (("text", AutoTokenizer), ("image", AutoImageProcessor), ("audio", AutoFeatureExtractor)):
        try:
            found[kind] = auto.from_pretrained(folder, local_files_only=True)
        except Exception:  # noqa: BLE001 - whatever it lacks, the type's own class is made by rule instead
            continue
    return found

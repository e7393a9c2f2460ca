"""A reader by the recipe alone, for models with random weights: their inputs are the recipe's, with the text, image
or audio in place of what the recipe would draw."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from PIL import Image

from assay_runner.subjects import models
from assay_runner.subjects.expressions import evaluate
from assay_runner.subjects.fitting import read as config_read
from assay_runner.subjects.natural import answers
from assay_runner.subjects.natural.spoken import Bytes, Letters, Words, ends
from assay_runner.subjects.processors import finding, settings

from .. import feeding
from ..errors import BadInput
from ..feeding import Arrays
from ..subjects import SEED
from . import material
from .reading import Read, chosen

Recipe = Mapping[str, Any]
Shape = tuple[int, ...]
_TEXT = ("input_ids", "prompt")
_MODALITIES = {
    **dict.fromkeys(_TEXT, "text"),
    "pixel_values": "image",
    "image": "image",
    "pixel_values_videos": "video",
    "input_values": "audio",
    "input_features": "audio",
}
"""Input → what it is made of."""

_BESIDE = frozenset({"decoder_input_ids", "noise"})  # a generation begins by itself; noise is the seed's
_RATE = 16000
_LONGEST = 512  # tokens, where a configuration names no limit
_MOST_SAMPLES = 30 * _RATE


class Plain:
    """Makes inputs by rule."""

    def __init__(self, recipe: Recipe) -> None:
        self._recipe = recipe
        self._specs = {spec["name"]: spec for spec in recipe["inputs"]}
        self._config = None if recipe.get("program") == "pipeline" else models.config(recipe)
        self._extractor = self._audio() if "audio" in self._named().values() else None
        self.rate = int(getattr(self._extractor, "sampling_rate", 0) or _RATE)
        self.modalities = self._readable()
        self.config: Mapping[str, Any] = self._config.to_dict() if self._config else {}
        text = next((spec for name, spec in self._specs.items() if name in (*_TEXT, "decoder_input_ids")), None)
        self.words: Words = Bytes(text["low"], text["high"], ends(self.config)) if text else Letters()

    @property
    def about(self) -> str:
        """How inputs are read, in words."""
        how = "by the defaults of its type's extractor" if self._extractor else "as it is"
        said = {
            "text": self.words.about,
            "image": "images resized, from -1 to 1",
            "video": "frames resized, from -1 to 1",
            "audio": f"audio at {self.rate} Hz, {how}",
        }
        written = ("text",) if self._recipe["task"] in answers.GENERATES else ()
        return "; ".join(said[kind] for kind in dict.fromkeys((*written, *self.modalities)) if self.modalities)

    def read(self, x: Any, padded: bool = True) -> Read:
        """The inputs of one request. Padded ones have a multiple of the recipe's length, so that few shapes occur."""
        given = chosen(x, self.modalities)
        texts = given.get("text", [])
        texts = [texts] if isinstance(texts, str) else list(texts)
        ids = [self.words.encode(text) for text in texts]
        sound = material.sound(given["audio"], self.rate) if "audio" in given else None
        point = {"batch": max(1, len(texts)), **self._lengths(ids, sound, padded)}
        made = feeding.drawn(self._recipe, point, SEED)
        facts: dict[str, Any] = {"texts": tuple(texts), "length": self._write(made, ids) if ids else 0}
        for name, kind in self._named().items():
            if kind in ("image", "video"):
                pictures = material.frames(given[kind])
                made[name], facts["size"] = _pictures(pictures, made[name].shape), pictures[0].size
            elif kind == "audio" and sound is not None:
                made[name] = self._heard(name, sound, made[name].shape)
        return Read(made, **facts)

    def _named(self) -> dict[str, str]:
        return {name: kind for name, kind in _MODALITIES.items() if name in self._specs}

    def _readable(self) -> tuple[str, ...]:
        """What natural inputs are made of; nothing where an input would be left that only a recipe can draw."""
        kinds = self._named()
        left = [name for name, spec in self._specs.items() if name not in kinds and not _follows(spec)]
        fits = {"text": self._is_text, "image": self._is_picture, "video": self._is_picture, "audio": self._is_heard}
        if left or not all(fits[kind](name) for name, kind in kinds.items()):
            return ()
        return tuple(dict.fromkeys(kinds.values()))

    def _is_text(self, name: str) -> bool:
        """Whether an input has one id for each place of a text, and not one for each of several codebooks."""
        return len(self._specs[name]["shape"]) == 2

    def _is_picture(self, name: str) -> bool:
        """Whether an input is a picture or a row of them, and not patches of one."""
        shape = self._specs[name]["shape"]
        return len(shape) in (4, 5) and shape[0] == "batch" and shape[-3] in (1, 3)

    def _is_heard(self, name: str) -> bool:
        """Whether a sound can be turned into an input: by an extractor, or because it is one."""
        return self._extractor is not None or len(self._specs[name]["shape"]) == 2

    def _audio(self) -> Any:
        """The feature extractor of the type, made without files; None where it has none."""
        found = finding.classes(self._recipe, self._config).get("audio")
        if found is None:
            return None
        try:
            return found.cls(**settings.given(found.cls, self._recipe, self._config))
        except Exception:  # noqa: BLE001 - a class that needs files raises anything
            return None

    def _lengths(self, ids: Sequence[Sequence[int]], sound: np.ndarray | None, padded: bool) -> dict[str, int]:
        sizes = self._recipe.get("sizes", {})
        found = {}
        if "seq" in sizes and ids:
            wanted = min(max(map(len, ids)), self._longest())
            exact = not padded and not self._places()
            found["seq"] = max(wanted, 1) if exact else _multiple(wanted, sizes["seq"], self._longest())
        if "samples" in sizes and sound is not None:
            found["samples"] = _multiple(len(sound), sizes["samples"], _MOST_SAMPLES)
        return found

    def _longest(self) -> int:
        limit = config_read.find(self._config, ("max_position_embeddings", "n_positions"), ()) if self._config else None
        return limit - 2 if isinstance(limit, int) and limit > 2 else _LONGEST  # some count positions from two

    def _places(self) -> list[Mapping[str, Any]]:
        """Places in a text that stand for a picture or a sound."""
        return [place for name in _TEXT if name in self._specs for place in self._specs[name].get("place", [])]

    def _write(self, made: Arrays, ids: Sequence[Sequence[int]]) -> int:
        """Writes texts into the places that are free, spaces into those left over, which are masked where that goes.
        Gives the length of the longest text, with what stands in it for a picture."""
        name = next(name for name in _TEXT if name in self._specs)
        names, places = feeding.sizes(self._recipe, made), self._places()
        spans = [(evaluate(place["at"], names), evaluate(place["count"], names)) for place in places]
        taken = {at + i for at, count in spans for i in range(count)}
        free = [i for i in range(made[name].shape[-1]) if i not in taken]
        mask = made.get("attention_mask")
        for row, text in enumerate(ids):
            made[name][row, free] = (list(text) + [self.words.pad] * len(free))[: len(free)]
            if mask is not None and not taken and mask.shape == made[name].shape:
                mask[row, max(len(text), 1) :] = 0
        return made[name].shape[-1] if taken else min(max(map(len, ids)), len(free))

    def _heard(self, name: str, sound: np.ndarray, shape: Shape) -> np.ndarray:
        """A sound as the input wants it, cut or padded with silence to its length."""
        rows = self._specs[name]["shape"][0] == "batch"
        if self._extractor is None:
            return _fit(sound, shape, rows)
        made = feeding.arrays(self._extractor(sound, sampling_rate=self.rate, return_tensors="pt"))
        found = next((made[key] for key in (name, "input_features", "input_values") if key in made), None)
        if found is None:
            raise BadInput(f"the extractor of {self._recipe['type']} does not produce {name}: pass it by name")
        return _fit(found, shape, rows)


def _follows(spec: Mapping[str, Any]) -> bool:
    """Whether an input needs nothing that a user would give."""
    constant = spec["kind"] == "ids" and spec["high"] - spec.get("low", 0) == 1
    return spec["name"] in _BESIDE or constant or spec["kind"] in feeding.FOLLOW


def _multiple(length: int, of: int, most: int) -> int:
    return max(min(math.ceil(length / of), most // of), 1) * of


def _fit(found: np.ndarray, shape: Shape, rows: bool) -> np.ndarray:
    """The array at the start of zeros of a shape; what goes beyond it is cut. Each row is the same."""
    while found.ndim > len(shape):
        found = found[0]
    found = found.reshape((1,) * (len(shape) - found.ndim) + found.shape)
    out = np.zeros(shape, np.float32)
    part = tuple(slice(0, min(a, b)) for a, b in zip(found.shape, shape, strict=True))
    out[part] = found[part]
    return np.ascontiguousarray(np.broadcast_to(out[:1], shape)) if rows else out


def _pictures(pictures: Sequence[Image.Image], shape: Shape) -> np.ndarray:
    """Pictures at the input's size; a row of them takes frames at equal distances."""
    channels, height, width = shape[-3:]
    count = shape[1] if len(shape) == 5 else 1
    taken = [pictures[i * len(pictures) // count] for i in range(count)]
    mode = "L" if channels == 1 else "RGB"
    arrays = [np.asarray(one.convert(mode).resize((width, height)), np.float32) / 127.5 - 1 for one in taken]
    stacked = np.stack([array.reshape(height, width, channels).transpose(2, 0, 1) for array in arrays])
    return np.ascontiguousarray(np.broadcast_to(stacked if len(shape) == 5 else stacked[0], shape))

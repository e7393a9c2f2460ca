"""Front ends: what a product does before its model runs, from raw sound or frames to the model's input.

A cell with the setting `front_end` runs whole: its model's input is made of raw material, on the platform, by the page
that runs the model. Here is what that is compared with: transformers' own feature extractors, fed with the same
material, give the input that torch's model gets. A recipe turned by `recipe` has an input of the kind `front-end` in
place of drawn features; everything after that (export, reference, control, verdict) is as for any other recipe.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from assay_runner.errors import BadRecipe, Unsuited
from assay_runner.subjects import stream

KIND = "front-end"
"""The kind of input that a front end makes."""

Shape = tuple[int, ...]
_UNIT = stream.Draw(0.0, 1 / math.sqrt(3.0))  # uniform in -1 to 1
_WIDER = (32, 52)  # by which frames are higher and wider than what the model sees, so that they are resized and cut
_SWELL_S = 0.37  # a sound comes and goes in this time, so that frames differ


@dataclass(frozen=True)
class FrontEnd:
    """One model type's front end: which input it makes, of what material, by whose rules here and in the page."""

    input: str
    raw: Callable[[Shape], Shape]  # the input's shape → the material's
    draw: Callable[[str, Shape], np.ndarray]
    features: Callable[[np.ndarray, Shape], np.ndarray]
    page: Callable[[Shape], dict[str, Any]]  # the input's shape → the settings that the page's front end takes


def _sound(rate: int) -> Callable[[str, Shape], np.ndarray]:
    """Noise that swells, by a stream."""

    def draw(key: str, shape: Shape) -> np.ndarray:
        noise = stream.floats(key, math.prod(shape), _UNIT).reshape(shape)
        swell = 0.55 + 0.45 * np.sin(2 * np.pi * np.arange(shape[-1]) / (_SWELL_S * rate))
        return (0.5 * noise * swell).astype(np.float32)

    return draw


def _video(key: str, shape: Shape) -> np.ndarray:
    """Frames of random colours, in blocks of eight pixels: smooth enough to be resized like pictures."""
    batch, frames, height, width, channels = shape
    coarse = (batch, frames, -(-height // 8), -(-width // 8), channels)
    blocks = stream.integers(key, math.prod(coarse), 0, 256).reshape(coarse)
    return blocks.repeat(8, 2).repeat(8, 3)[:, :, :height, :width].astype(np.uint8)


def _whisper(raw: np.ndarray, shape: Shape) -> np.ndarray:
    from transformers import WhisperFeatureExtractor

    extract, rate = WhisperFeatureExtractor(feature_size=shape[1]), _WHISPER["rate"]
    length = raw.shape[-1]
    made = extract(list(raw), sampling_rate=rate, padding="max_length", max_length=length, return_tensors="np")
    return made["input_features"]


def _wav2vec2(raw: np.ndarray, shape: Shape) -> np.ndarray:
    from transformers import Wav2Vec2FeatureExtractor

    return Wav2Vec2FeatureExtractor()(list(raw), sampling_rate=16000, return_tensors="np")["input_values"]


def _clap(raw: np.ndarray, shape: Shape) -> np.ndarray:
    from transformers import ClapFeatureExtractor

    extract = ClapFeatureExtractor(feature_size=shape[-1])
    made = extract(list(raw), sampling_rate=_CLAP["rate"], truncation="rand_trunc", return_tensors="np")
    return made["input_features"].astype(np.float32)


def _frames(raw: np.ndarray, shape: Shape) -> np.ndarray:
    from transformers import VideoMAEImageProcessor

    size = {"height": shape[-2], "width": shape[-1]}
    process = VideoMAEImageProcessor(size={"shortest_edge": shape[-1]}, crop_size=size)
    return np.concatenate([process(list(video), return_tensors="np")["pixel_values"] for video in raw])


_WHISPER = {"rate": 16000, "length": 400, "hop": 160, "low": 0, "high": 8000, "scale": "slaney", "even": True}
_CLAP = {"rate": 48000, "length": 1024, "hop": 480, "low": 0, "high": 14000, "scale": "slaney", "even": True}

FRONT_ENDS = {
    "whisper": FrontEnd(
        "input_features",
        lambda shape: (shape[0], shape[2] * _WHISPER["hop"]),
        _sound(16000),
        _whisper,
        lambda shape: {"kind": "log-mel", "style": "whisper", "bands": shape[1], **_WHISPER},
    ),
    "wav2vec2": FrontEnd(
        "input_values", lambda shape: shape, _sound(16000), _wav2vec2, lambda shape: {"kind": "normalise"}
    ),
    "clap": FrontEnd(
        "input_features",
        lambda shape: (shape[0], (shape[2] - 1) * _CLAP["hop"]),
        _sound(48000),
        _clap,
        lambda shape: {"kind": "log-mel", "style": "clap", "bands": shape[3], **_CLAP},
    ),
    "xclip": FrontEnd(
        "pixel_values",
        lambda shape: (*shape[:2], shape[3] + _WIDER[0], shape[4] + _WIDER[1], shape[2]),
        _video,
        _frames,
        lambda shape: {"kind": "frames", "height": shape[3], "width": shape[4], "mean": 0.5, "deviation": 0.5},
    ),
}
"""The model's type → its front end."""


def recipe(plain: Mapping[str, Any]) -> dict[str, Any]:
    """The recipe with raw material in place of the input that its type's front end makes."""
    kind = str(plain.get("type") or "")
    front = FRONT_ENDS.get(kind)
    if front is None:
        raise Unsuited(f"{kind or 'the model'} has no front end here: those that have one are {', '.join(FRONT_ENDS)}")
    inputs = [
        {**spec, "kind": KIND, "front_end": kind} if spec["name"] == front.input else spec for spec in plain["inputs"]
    ]
    return {**plain, "inputs": inputs}


def raw(spec: Mapping[str, Any], shape: Shape, key: str) -> np.ndarray:
    """The material of an input, by its stream."""
    front = FRONT_ENDS[spec["front_end"]]
    return front.draw(f"{key}/raw", front.raw(shape))


def features(spec: Mapping[str, Any], shape: Shape, key: str) -> np.ndarray:
    """The input as transformers makes it of the material."""
    made = FRONT_ENDS[spec["front_end"]].features(raw(spec, shape, key), shape)
    if made.shape != shape:
        raise BadRecipe(
            f"the front end of {spec['front_end']} gives {list(made.shape)}, and the model takes {list(shape)}"
        )
    return made


def of_graph(used: Mapping[str, Any], inputs: list[Mapping[str, Any]]) -> dict[str, Any] | None:
    """The settings of a recipe's front end for the page, with the graph's input that it makes; None without one."""
    for spec in used.get("inputs", []):
        if spec.get("kind") == KIND:
            shape = next(tuple(row["shape"]) for row in inputs if row["name"] == spec["name"])
            return {"input": spec["name"], **FRONT_ENDS[spec["front_end"]].page(shape)}
    return None

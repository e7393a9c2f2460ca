"""What a pipeline of transformers.js does itself around its model, compared with what transformers does there.

Before the model: the ids of a text, the pixels of an image, the samples of a recording. After it: features, scores or a
text. Between the two the model is given the recipe's own tensors, so that its numbers are those of every other engine;
what is here shows that the pipeline gets to its model, and back from it, as transformers does.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from assay_runner.engines.contract import Arrays
from assay_runner.engines.web.transformers_js import DECODED
from assay_runner.subjects.generation import IDS

LIMIT = 1e-4
"""Of the largest value: images are rounded to bytes, and both sides compute in float32."""

_FEATURES = ("last_hidden_state", "logits", "token_embeddings", "image_embeds")  # the first one there is a result


@dataclass(frozen=True)
class Ran:
    """One run of a pipeline: the folder that it was made of, what it was called with, what it made for its model, what
    its model gave, and what it made of that."""

    folder: Path
    call: Mapping[str, Any]
    given: Arrays  # what the model was given in place of what the pipeline made
    made: Arrays
    found: Arrays
    result: Any


def rows(ran: Ran) -> list[dict[str, Any]]:
    """Each thing that the pipeline made, with its distance from what transformers makes; `pass` is None where there is
    nothing to compare it with."""
    expected = next((make(ran) for name, make in _BEFORE.items() if name in ran.call), {})
    out = [_row(f"{name}, before the model", ran.made.get(name), array) for name, array in expected.items()]
    after = _AFTER.get(str(ran.call["task"]))
    return [*out, after(ran) if after else _row("what it makes from the model's outputs", None, None)]


def _row(what: str, found: Any, expected: Any) -> dict[str, Any]:
    """A comparison of arrays, or of words."""
    if expected is None:
        return {"what": what, "max_rel": None, "pass": None}
    if isinstance(expected, str):
        return {"what": what, "max_rel": None, "pass": found == expected}
    if found is None or np.shape(found) != np.shape(expected):
        return {"what": what, "max_rel": None, "pass": False}
    most = max(float(np.abs(expected).max(initial=0)), 1e-30)
    apart = float(np.abs(np.asarray(found, np.float64) - np.asarray(expected, np.float64)).max(initial=0)) / most
    return {"what": what, "max_rel": apart, "pass": apart <= (0 if expected.dtype.kind in "iu" else LIMIT)}


def _texts(ran: Ran) -> Arrays:
    """A text stands for just the recipe's ids."""
    return {name: array for name, array in ran.given.items() if name in ran.made}


def _image(ran: Ran) -> Arrays:
    from PIL import Image
    from transformers import ViTImageProcessor

    width, height = ran.call["image"]
    pixels = (np.arange(width * height * 3) * 37 % 256).astype(np.uint8)  # the page draws the same
    image = Image.fromarray(pixels.reshape(height, width, 3))
    made = ViTImageProcessor.from_pretrained(ran.folder)(image, return_tensors="np")
    return {"pixel_values": np.asarray(made["pixel_values"])}


def _samples(ran: Ran) -> Arrays:
    wave = np.sin(np.arange(ran.call["samples"]) / 20).astype(np.float32)  # the page draws the same
    return _mels(ran, wave) if DECODED in ran.call else _values(ran, wave)


def _mels(ran: Ran, wave: np.ndarray) -> Arrays:
    """Whisper's features, which its generation has under another name."""
    from transformers import WhisperFeatureExtractor

    extractor = WhisperFeatureExtractor.from_pretrained(ran.folder)
    rate, length = extractor.sampling_rate, wave.size
    made = extractor(wave, sampling_rate=rate, padding="max_length", max_length=length, return_tensors="np")
    return {"inputs": np.asarray(made["input_features"])}


def _values(ran: Ran, wave: np.ndarray) -> Arrays:
    from transformers import Wav2Vec2FeatureExtractor

    extractor = Wav2Vec2FeatureExtractor.from_pretrained(ran.folder)
    made = extractor(wave, sampling_rate=extractor.sampling_rate, return_tensors="np")
    return {"input_values": np.asarray(made["input_values"])}


_BEFORE: Mapping[str, Callable[[Ran], Arrays]] = {"texts": _texts, "image": _image, "samples": _samples}
"""What a pipeline is called with → what transformers makes of it."""


def _features(ran: Ran) -> dict[str, Any]:
    return _row("features, after the model", ran.result, next(ran.found[n] for n in _FEATURES if n in ran.found))


def _scores(ran: Ran) -> dict[str, Any]:
    """The five most likely labels, with their shares."""
    logits = ran.found["logits"].astype(np.float64)[0]
    shares = np.exp(logits - logits.max())
    best = np.sort(shares / shares.sum())[::-1][: len(ran.result)]
    return _row("scores, after the model", np.asarray([row["score"] for row in ran.result]), best)


def _heard(ran: Ran) -> dict[str, Any]:
    if DECODED in ran.call:
        return _row("text, after the model", ran.result["text"], _decoded(ran))
    ids = ran.found["logits"].argmax(-1)[0]
    return _row(
        "text, after the model", ran.result["text"], _tokenizer(ran).decode(ids, skip_special_tokens=True).strip()
    )


def _written(ran: Ran) -> dict[str, Any]:
    words = _tokenizer(ran)
    prompt, new = ran.given["input_ids"][0], ran.found[IDS][0]
    whole = words.decode([*prompt, *new], skip_special_tokens=True)
    expected = whole[len(words.decode(prompt, skip_special_tokens=True)) :]
    first = ran.result[0] if isinstance(ran.result[0], Mapping) else ran.result[0][0]
    return _row("text, after the model", first["generated_text"], expected)


def _translated(ran: Ran) -> dict[str, Any]:
    return _row("text, after the model", ran.result[0]["generated_text"], _decoded(ran))


def _decoded(ran: Ran) -> str:
    """A decoder's text has the ids in it that it began with."""
    return _tokenizer(ran).decode([*ran.call[DECODED][0], *ran.found[IDS][0]], skip_special_tokens=True)


def _tokenizer(ran: Ran) -> Any:
    from transformers import PreTrainedTokenizerFast

    return PreTrainedTokenizerFast.from_pretrained(ran.folder)


_AFTER: Mapping[str, Callable[[Ran], dict[str, Any]]] = {
    "feature-extraction": _features,
    "image-feature-extraction": _features,
    "image-classification": _scores,
    "audio-classification": _scores,
    "automatic-speech-recognition": _heard,
    "text-generation": _written,
    "text2text-generation": _translated,
}
"""A pipeline → how that is judged which it makes of its model's outputs."""

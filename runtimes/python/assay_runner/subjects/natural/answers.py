"""What a task's outputs mean: a table from the task, and the outputs that a model gave, to what a user wants.

A task without a row, or a model whose outputs no row of its task names, answers with the arrays themselves.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .requests import Arrays, Read
from .spoken import Words

MOST = 5  # classes or boxes that are told, the best first


@dataclass(frozen=True)
class Seen:
    """The outputs of one request, and what it takes to read them."""

    outputs: Arrays
    read: Read
    words: Words | None
    config: Mapping[str, Any] = field(default_factory=dict)  # the model's

    def label(self, i: int) -> str:
        """The name of a class; files have the numbers of classes as texts."""
        names = self.config.get("id2label") or {}
        return names.get(i, names.get(str(i), f"LABEL_{i}"))

    def token(self, i: int) -> str:
        """The text of an id."""
        return self.words.decode([i]) if self.words else ""


Answer = Callable[[Seen], Any]


@dataclass(frozen=True)
class Row:
    """One way to answer: the outputs it needs, and what it makes of them."""

    needs: tuple[str, ...]
    answer: Answer
    about: str
    together: bool = True  # whether requests may share a run: not where texts are set against pictures


def softmax(logits: np.ndarray) -> np.ndarray:
    """Shares along the last axis."""
    raised = np.exp(logits.astype(np.float64) - logits.max(-1, keepdims=True))
    return raised / raised.sum(-1, keepdims=True)


def _best(scores: np.ndarray, names: Callable[[int], str], most: int = MOST) -> list[dict[str, Any]]:
    order = np.argsort(-scores, kind="stable")[:most]
    return [{"label": names(int(i)), "id": int(i), "score": float(scores[i])} for i in order]


def _next(seen: Seen) -> Any:
    """The likeliest token after a text."""
    shares = softmax(seen.outputs["logits"][0][-1])
    best = int(shares.argmax())
    return {"id": best, "token": seen.token(best), "score": float(shares[best])}


def _classes(seen: Seen) -> Any:
    return _best(softmax(seen.outputs["logits"].reshape(-1, seen.outputs["logits"].shape[-1])[0]), seen.label)


def _fills(seen: Seen) -> Any:
    """The likeliest token of each masked place; of every place where none is masked."""
    ids = seen.read.arrays["input_ids"][0][: seen.read.length]
    masked = np.flatnonzero(ids == seen.words.mask) if seen.words and seen.words.mask is not None else []
    places = masked if len(masked) else range(len(ids))
    shares = softmax(seen.outputs["logits"][0])
    best = ((int(place), int(shares[place].argmax())) for place in places)
    return [{"position": p, "id": i, "token": seen.token(i), "score": float(shares[p, i])} for p, i in best]


def _marks(seen: Seen) -> Any:
    """The class of each token."""
    ids, shares = seen.read.arrays["input_ids"][0], softmax(seen.outputs["logits"][0])
    best = ((p, int(shares[p].argmax())) for p in range(seen.read.length))
    return [
        {"position": p, "token": seen.token(int(ids[p])), "label": seen.label(i), "score": float(shares[p, i])}
        for p, i in best
    ]


def _matches(name: str) -> Answer:
    def answer(seen: Seen) -> Any:
        """How well each text fits what was shown."""
        found = seen.outputs[name]
        return _best(softmax(found.reshape(found.shape[0], -1)[0]), lambda i: seen.read.texts[i], len(seen.read.texts))

    return answer


def _mean(seen: Seen) -> Any:
    """The mean over a text's tokens, over a picture's patches or over a sound's frames."""
    hidden = seen.outputs["last_hidden_state"][0].astype(np.float32)
    if hidden.ndim == 2:
        return hidden[: seen.read.length or None].mean(0)
    return hidden.mean(tuple(range(1, hidden.ndim)))  # of pictures: channels come first; a vector stays


def _one(name: str) -> Answer:
    return lambda seen: seen.outputs[name][0]


def _boxes(seen: Seen) -> Any:
    """Left, top, right and bottom of each box, in pixels of the picture; the last class is that of nothing. What is no
    box of centre and sides stays an array."""
    if seen.outputs["pred_boxes"].shape[-1] != 4:
        return seen.outputs
    shares = softmax(seen.outputs["logits"][0])[:, :-1]
    x, y, w, h = seen.outputs["pred_boxes"][0].T.astype(np.float64)
    width, height = seen.read.size or (1, 1)
    corners = np.stack([(x - w / 2) * width, (y - h / 2) * height, (x + w / 2) * width, (y + h / 2) * height], 1)
    order = np.argsort(-shares.max(1), kind="stable")[:MOST]
    best = ((int(i), int(shares[i].argmax())) for i in order)
    return [
        {"label": seen.label(c), "id": c, "score": float(shares[i, c]), "box": corners[i].tolist()} for i, c in best
    ]


def _map(seen: Seen) -> Any:
    """The class of each place of the picture."""
    return seen.outputs["logits"][0].argmax(0)


def _heard(seen: Seen) -> Any:
    best = seen.outputs["logits"][0].argmax(-1).tolist()
    return seen.words.heard(best, seen.config.get("pad_token_id") or 0) if seen.words else best


def _found(seen: Seen) -> Any:
    """The documents that were read, and the likeliest answer."""
    ids = seen.outputs["logits"][0].argmax(-1).tolist()
    return {"documents": seen.outputs["doc_ids"][0].tolist(), "text": seen.words.decode(ids) if seen.words else ids}


def _shown(seen: Seen) -> Any:
    """A picture of height × width × 3, from 0 to 1."""
    return seen.outputs["images"][0].transpose(1, 2, 0)


def _framed(seen: Seen) -> Any:
    """Frames of height × width × 3, from 0 to 1."""
    return seen.outputs["frames"][0].transpose(0, 2, 3, 1)


_CLASSES = (Row(("logits",), _classes, "labels with scores"),)
_MATCHES = tuple(
    Row((name,), _matches(name), "texts with scores", together=False)
    for name in ("logits_per_image", "logits_per_video", "logits_per_audio", "logits_per_speech")
)
_VECTOR = (
    Row(("doc_ids", "logits"), _found, "documents and a text"),
    *_MATCHES,
    Row(("pooler_output",), _one("pooler_output"), "an embedding"),
    Row(("last_hidden_state",), _mean, "an embedding: the mean of the last hidden state"),
)
_PICTURE = (Row(("images",), _shown, "a picture"),)

ANSWERS: Mapping[str, Sequence[Row]] = {
    "fill-mask": (Row(("logits",), _fills, "tokens with scores"),),
    "token-classification": (Row(("logits",), _marks, "a label for each token"),),
    **dict.fromkeys(
        ("image-classification", "audio-classification", "video-classification", "text-classification"), _CLASSES
    ),
    "zero-shot-image-classification": _MATCHES,
    "feature-extraction": _VECTOR,
    "text-encoding": _VECTOR,
    "object-detection": (Row(("logits", "pred_boxes"), _boxes, "labels with scores and boxes"),),
    "image-segmentation": (Row(("logits",), _map, "a class for each place"),),
    "depth-estimation": (Row(("predicted_depth",), _one("predicted_depth"), "a depth for each place"),),
    "automatic-speech-recognition": (Row(("logits",), _heard, "a text"),),
    "text-to-audio": (Row(("waveform",), _one("waveform"), "a sound"),),
    **dict.fromkeys(("text-to-video", "image-to-video"), (Row(("frames",), _framed, "a video"),)),
    **dict.fromkeys(("text-to-image", "image-to-image", "class-to-image"), _PICTURE),
}
"""Task → the ways to answer, the first that fits."""

GENERATES = frozenset(
    "text-generation text2text-generation image-text-to-text automatic-speech-recognition any-to-any".split()
)
"""Tasks whose natural output is a text that the model generates, where its class can."""

NEXT = Row(("logits",), _next, "the likeliest next token")
"""Of a task that generates, where one forward is all that runs."""

ARRAYS = Row((), lambda seen: seen.outputs, "named arrays")


def of(task: str, names: Sequence[str]) -> Row:
    """How a task is answered by a model that gives outputs of these names."""
    return next((row for row in ANSWERS.get(task, ()) if set(row.needs) <= set(names)), ARRAYS)

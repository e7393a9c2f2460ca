"""Family, pipeline and priority, each decided by a table over the facts of a type."""

from __future__ import annotations

import json
from collections.abc import Callable
from importlib import resources

from .heads import BARE_TASKS
from .type_facts import Facts

# The thirteen key models' types. They have the highest priority whatever else is true.
KEY_TYPES = (
    "bert", "t5", "llama", "clip", "vit", "clap", "whisper", "wav2vec2", "llava", "llava_next", "xclip", "qwen2",
    "detr",
)  # fmt: skip

VISUAL = frozenset({"image", "video"})


def _only(*kinds: str) -> Callable[[Facts], bool]:
    return lambda facts: bool(facts.modalities) and facts.modalities <= set(kinds)


def _sees(facts: Facts) -> bool:
    return bool(facts.modalities & VISUAL)


# Tasks that take or give sound, for models whose default head takes only text.
AUDIO_TASKS = frozenset(
    "automatic-speech-recognition text-to-speech text-to-audio audio-classification audio-frame-classification "
    "speaker-verification audio-tokenization".split()
)


def _hears(facts: Facts) -> bool:
    return "audio" in facts.modalities or bool(AUDIO_TASKS & set(facts.tasks))


def _generates(facts: Facts) -> bool:
    return bool({"image-text-to-text", "any-to-any"} & set(facts.tasks))


# In order: the first row that holds is a type's primary family, every row that holds is one of its families.
# Rows below an encoder-decoder's shape speak of text models only.
FAMILIES: tuple[tuple[str, Callable[[Facts], bool]], ...] = (
    ("rag", lambda f: f.retrieval),
    ("diffusion", lambda f: f.diffusion),
    ("time-series", lambda f: "time" in f.modalities),
    ("multimodal", lambda f: _sees(f) and _hears(f)),
    ("audio", _hears),
    ("vision-text", lambda f: _sees(f) and "text" in f.modalities),
    ("video", lambda f: ("video" in f.modalities and _only("video")(f)) or "video-classification" in f.tasks),
    ("vision", _sees),
    ("state-space", lambda f: f.state_space),
    ("mixture-of-experts", lambda f: f.experts),
    ("encoder-decoder", lambda f: f.encoder_decoder and not _sees(f) and not _hears(f)),
    ("decoder-only", lambda f: _only("text")(f) and f.causal and not f.encoder_decoder),
    ("encoder-only", lambda f: _only("text")(f) and not f.causal and not f.encoder_decoder),
    ("multimodal", lambda f: "text" in f.modalities and len(f.modalities) > 1 and _generates(f)),
)
OTHER = "other"
# A row that a more special one makes untrue: audio heard beside images is multimodal, video is not plain vision.
SHADOWED = {"multimodal": {"audio"}, "vision-text": {"vision"}, "video": {"vision"}, "time-series": {"encoder-only"}}

PIPELINES: dict[str, str] = {
    row["family"]: row["pipeline"]
    for row in json.loads(resources.files("assay_runner").joinpath("data/families.json").read_text(encoding="utf-8"))
}
"""Every family → the one of the nine pipelines that it belongs to; "" for time series and the rest. The list is
`internal/cell`'s, whose test writes the file."""


def families_of(facts: Facts) -> list[str]:
    """The type's families, the primary one first; ``other`` when no row holds."""
    found = list(dict.fromkeys(name for name, holds in FAMILIES if holds(facts)))
    if not found:
        return [OTHER]
    primary = found[0]
    return [name for name in found if name not in SHADOWED.get(primary, ())]


# In order: the first row that holds decides. docs/models.md states the same rule in words.
MANY_TASKS = 5
PRIORITIES: tuple[tuple[str, Callable[[Facts], bool]], ...] = (
    ("high", lambda f: f.type in KEY_TYPES or f.type == "qwen3"),
    ("low", lambda f: not f.auto or not set(f.tasks) - BARE_TASKS),
    ("high", lambda f: len(set(f.tasks) - BARE_TASKS) >= MANY_TASKS),
    ("medium", lambda f: True),
)


def priority_of(facts: Facts) -> str:
    """high, medium or low."""
    return next(name for name, holds in PRIORITIES if holds(facts))

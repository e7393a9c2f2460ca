"""Which pipelines there are: types, each with a pipeline class for every task it can do.

The library's own mappings for automatic pipelines come first: their keys are types, and each
mapping has its task. Other classes belong to the type of their folder where that has no class
for their task yet, and are types of their own where it has.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from inspect import Parameter

from assay_runner.subjects.diffusion import components, release

# The library's mappings, and the task of each. One that a release does not have holds nothing.
MAPPINGS: tuple[tuple[str, str], ...] = (
    ("AUTO_TEXT2IMAGE_PIPELINES_MAPPING", "text-to-image"),
    ("AUTO_IMAGE2IMAGE_PIPELINES_MAPPING", "image-to-image"),
    ("AUTO_INPAINT_PIPELINES_MAPPING", "inpainting"),
    ("AUTO_TEXT2VIDEO_PIPELINES_MAPPING", "text-to-video"),
    ("AUTO_IMAGE2VIDEO_PIPELINES_MAPPING", "image-to-video"),
    ("AUTO_VIDEO2VIDEO_PIPELINES_MAPPING", "video-to-video"),
    ("AUTO_TEXT2AUDIO_PIPELINES_MAPPING", "text-to-audio"),
)

# What a class of no mapping does: the first row whose words its name has and whose parameters its call takes.
RULES: tuple[tuple[str, tuple[str, ...], str], ...] = (
    ("", ("gen_length",), "text-generation"),
    ("AudioToAudio|StableAudio3Inpaint", (), "audio-to-audio"),
    ("Inpaint|Fill", (), "inpainting"),
    ("ImageToVideo|I2V|Image2Video|TI2V|StableVideoDiffusion|Animate2?Pipeline", (), "image-to-video"),
    ("VideoToVideo|Video2Video|VideoToWorld|LucyEdit|LTX2?LatentUpsample|DiffusionDecode|6SR", (), "video-to-video"),
    (
        "Img2Img|ImageToImage|I2I|Upscale|Upsample|Edit|Refiner|Pix2Pix|SuperResolution|Variation|Depth2Img|Emb2Emb",
        (),
        "image-to-image",
    ),
    ("", ("num_frames",), "text-to-video"),
    ("", ("video_length",), "text-to-video"),
    ("", ("frames",), "text-to-video"),
    ("", ("control_video",), "text-to-video"),
    ("", ("audio_length_in_s",), "text-to-audio"),
    ("", ("audio_end_in_s",), "text-to-audio"),
    ("", ("audio_duration",), "text-to-audio"),
    ("", ("prompt",), "text-to-image"),
    ("", ("class_labels",), "class-to-image"),
    ("", ("image_embeds",), "embedding-to-image"),
    ("", ("image",), "image-to-image"),
    ("", ("batch_size",), "unconditional-image-generation"),
    ("", (), "other-generation"),
)

_FOLDER = re.compile(r"diffusers\.pipelines\.(?:deprecated\.)?(\w+)")
_CAPITAL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_TO = re.compile(r"(?<=img|pix|emb|pth)2-")  # img2img, pix2pix, emb2emb and depth2img are words


@dataclass(frozen=True)
class Head:
    """A pipeline class for a task of a type."""

    type: str
    task: str
    cls: type
    mapped: bool = False  # named by one of the library's own mappings


@cache
def heads() -> tuple[Head, ...]:
    """Every pipeline of the installed release; the heads of a type in order of preference."""
    found = list(_mapped())
    taken = {(head.type, head.task) for head in found}
    known = {head.cls for head in found}
    for cls in sorted(release.pipelines(), key=lambda cls: (len(cls.__name__), cls.__name__)):
        if cls in known:
            continue
        task = task_of(cls.__name__, components.accepted(cls))
        name = _folder(cls)
        if (name, task) in taken:
            name = own_name(cls.__name__)
        taken.add((name, task))
        found.append(Head(name, task, cls))
    return tuple(found)


def of_type(name: str) -> list[Head]:
    """The heads of one type, the default first."""
    return [head for head in heads() if head.type == name]


def _mapped() -> list[Head]:
    auto = release.module("pipelines.auto_pipeline")
    return [
        Head(_apart(key), task, cls, mapped=True)
        for mapping, task in MAPPINGS
        for key, cls in getattr(auto, mapping, {}).items()
    ]


def task_of(name: str, accepts: Mapping[str, Parameter]) -> str:
    """What a pipeline class of no mapping does."""
    return next(
        task for words, wanted, task in RULES if re.search(words, name) and all(word in accepts for word in wanted)
    )


def _apart(name: str) -> str:
    """The name, or another where transformers has a type that is written alike: both are in one catalogue."""
    from transformers.models.auto.configuration_auto import CONFIG_MAPPING_NAMES

    plain = {known.lower().replace("-", "_") for known in CONFIG_MAPPING_NAMES}
    return f"{name}-pipeline" if name.lower().replace("-", "_") in plain else name


def _folder(cls: type) -> str:
    found = _FOLDER.match(cls.__module__)
    return _apart(found[1].replace("_", "-")) if found else own_name(cls.__name__)


def own_name(cls: str) -> str:
    """A class name as a type is written: StableDiffusionUpscalePipeline is stable-diffusion-upscale."""
    words = "-".join(_CAPITAL.split(cls.removesuffix("Pipeline"))).replace("_", "-").lower()
    return _TO.sub("2", words)

"""What a processor is told so that it fits a small model: a table from its settings to sizes of the recipe.

Processors are made without files, with the defaults of their classes, which are those of
full size. A setting that a class does not have is not given, nor is a size that the
configuration does not name: then the class's default says what models are fed. Where a
default is an object, its keys are kept and their values replaced.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from assay_runner.subjects import inputs
from assay_runner.subjects.expressions import evaluate
from assay_runner.subjects.fitting import read

Recipe = Mapping[str, Any]
TOWER = read.VISION
PICTURES = ("pixel_values", "pixel_values_videos", "image_pixel_values", "pixel_values_images", "image")
FRAMES = ("num_frames", "frames_per_clip")
PATCHES = 16  # of every picture that a recipe gives as patches


@dataclass(frozen=True)
class Setting:
    """A setting, where its value comes from, and why it is given."""

    name: str
    value: Callable[[Recipe, Any], Any]  # of a recipe and its configuration; None: not known
    why: str
    least: int = 0  # only where the default is a number of at least this


def named(*names: str, prefer: tuple[str, ...] = TOWER) -> Callable[[Recipe, Any], Any]:
    """The number that the configuration has under one of these names; of a list its last."""

    def value(recipe: Recipe, config: Any) -> Any:
        found = read.find(config, names, prefer)
        return found[-1] if isinstance(found, (list, tuple)) else found

    return value


def sides(recipe: Recipe, config: Any) -> tuple[int, int] | None:
    """Height and width of the recipe's pictures; None where they come as patches."""
    sizes = inputs.sizes(recipe, {})
    for spec in recipe["inputs"]:
        if spec["name"] in PICTURES and len(spec["shape"]) >= 4:
            height, width = (evaluate(entry, sizes) for entry in spec["shape"][-2:])
            return height, width
    return None


def frames_a_patch(recipe: Recipe, config: Any) -> int:
    """How many frames make a patch; a tower that names no number takes them one by one."""
    return named(*read.SIZES["T"].names)(recipe, config) or 1


def truncation(recipe: Recipe, config: Any) -> str | None:
    """How sounds are cut: in several views only for models that fuse them."""
    part = next((part for _, part in read.parts(config) if hasattr(part, "enable_fusion")), config)
    return None if getattr(part, "enable_fusion", True) else "rand_trunc"


_SIDE = "pictures are scaled or padded to the side of the small model's"
_FRAME = named("audio_samples_per_token", prefer=read.AUDIO)
_MEL = named("audio_samples_per_token", *read.SIZES["M"].names, prefer=read.AUDIO)
SETTINGS = (
    Setting("size", sides, _SIDE),
    Setting("crop_size", sides, "pictures are cut to the side of the small model's"),
    Setting("max_image_size", sides, _SIDE),
    Setting("pad_size", sides, _SIDE),
    Setting("do_image_splitting", lambda recipe, config: False, "a recipe's picture is one tile"),
    Setting("dynamic_hd", lambda recipe, config: 1, "a recipe's picture is one tile"),
    Setting("apply_ocr", lambda recipe, config: False, "reading the words of a page needs a program besides Python"),
    Setting("tile_size", sides, _SIDE),
    Setting("high_res_size", named("image_size", prefer=("high_res",)), "the side of the second, finer picture"),
    Setting("patch_size", named("patch_size"), "patches are cut by the processor: their width is the model's"),
    Setting("temporal_patch_size", frames_a_patch, "frames that make one patch"),
    Setting("merge_size", named("spatial_merge_size", "merge_size"), "patches are ordered by the squares that merge"),
    Setting("max_patches", lambda recipe, config: PATCHES, "what a picture is padded to; few are tiles", least=100),
    Setting("max_num_patches", lambda recipe, config: PATCHES, "what a picture is padded to", least=100),
    Setting("max_image_tiles", named("max_num_tiles"), "tiles that a picture is padded to"),
    Setting("image_grid_pinpoints", lambda recipe, config: getattr(config, "image_grid_pinpoints", None),
            "the resolutions among which tiles are chosen"),
    Setting("num_frames", named(*FRAMES), "frames that are taken from a video"),
    Setting("num_mel_bins", _MEL, "mel bins of a spectrogram"),
    Setting("feature_size", _MEL, "mel bins of a spectrogram; one or two are the channels of a wave", least=3),
    Setting("audio_samples_per_token", _FRAME, "samples that are one frame, where frames are cut from waves"),
    Setting("max_length", named(*read.SIZES["SPECTRUM"].names, prefer=read.AUDIO), "frames of a spectrogram", least=3),
    Setting("truncation", truncation, "views of a sound that only some models fuse"),
)  # fmt: skip
_EDGES = {"height": 0, "width": 1, "max_height": 0, "max_width": 1, "shortest_edge": 0, "longest_edge": 0}
_RANGE = {"shortest_edge", "longest_edge"}


def given(cls: type, recipe: Recipe, config: Any) -> dict[str, Any]:
    """The settings that this class has and this recipe knows a value for."""
    made, values = cls(), {}
    for setting in SETTINGS:
        default = getattr(made, setting.name, None)
        if default is None or (isinstance(default, int) and default < setting.least):
            continue
        if (value := setting.value(recipe, config)) is not None:
            values[setting.name] = _like(default, value)
    return {name: value for name, value in values.items() if value is not None}


def _like(default: Any, value: Any) -> Any:
    """The value in the form of the default; None where that has no place for it."""
    form = next(form for kinds, form in _FORMS if isinstance(default, kinds))
    return form(default, value)


def _edges(default: Any, value: Any) -> dict[str, int] | None:
    """Edges by name. A range of edges or of pixels stays: the processor chooses in it by the picture."""
    keys = {key for key, edge in dict(default).items() if edge is not None}
    pair = value if isinstance(value, tuple) else (value, value)
    return {key: pair[_EDGES[key]] for key in keys} if keys <= _EDGES.keys() and not keys >= _RANGE else None


_FORMS: tuple[tuple[Any, Callable[[Any, Any], Any]], ...] = (
    (int, lambda default, value: min(value) if isinstance(value, tuple) else value),
    ((str, list, tuple), lambda default, value: value),
    (object, _edges),
)

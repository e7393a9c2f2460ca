"""Puts tiny parts together for a pipeline class, by rule.

Text encoders and denoisers fit each other because both have the one small width. What
pipelines concatenate, and what annotations leave open, stands in ``rows``; how many
channels a codec makes follows from the denoiser.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from assay_runner.subjects.diffusion import components, release, tokenizers
from assay_runner.subjects.diffusion.assembling import WORDS, kind_of
from assay_runner.subjects.diffusion.components import Part
from assay_runner.subjects.fitting import special
from assay_runner.subjects.shrinking import LADDER, shrink
from assay_runner.subjects.shrinking.compact import compact

from . import narrowing, rows

Row = dict[str, Any]

# What stands for an annotation that leaves the class open.
OPEN = {
    "KarrasDiffusionSchedulers": "diffusers.EulerDiscreteScheduler",
    "SchedulerMixin": "diffusers.EulerDiscreteScheduler",
    "GemmaPreTrainedModel": "transformers.GemmaModel",
    "Gemma2PreTrainedModel": "transformers.Gemma2Model",
    "PreTrainedModel": "transformers.Qwen3Model",
}
# Denoisers that take a square of two by two latent pixels as one.
PACKED = re.compile("Flux|Chroma|Bria|Ovis|LongCatImage")
# The encoder that a tokenizer belongs to: of the same prefix and number, else the only one.
_TOKENIZER = re.compile(r"(\w*?)_?tokenizer(_?\d*)")
_ENCODERS = ("{0}text_encoder{1}", "{0}text_encoder", "text_encoder{1}", "text_encoder")


class NoPart(Exception):
    """A part cannot be made by rule."""


def compose(pipeline: type) -> tuple[dict[str, Row | None], dict[str, Any]]:
    """The rows of all parts in the constructor's order, and the plain settings that it is given."""
    given = rows.of_pipeline(pipeline.__name__, "parts")
    uses = rows.of_pipeline(pipeline.__name__, "uses")
    read = components.read(pipeline)
    made = {part.name: _part(part, uses.get(part.name, ""), given.get(part.name, {})) for part in _others(read)}
    made |= {part.name: _tokenizer(part.name, made, given.get(part.name, {})) for part in _tokenizers(read)}
    _latents(made)
    settings = {part.name: given[part.name] for part in read if part.setting and part.name in given}
    return {part.name: made[part.name] for part in read if part.name in made}, settings


def _tokenizers(read: list[Part]) -> list[Part]:
    return [part for part in read if not part.setting and kind_of(part.choices[0]) == "tokenizer"]


def _others(read: list[Part]) -> list[Part]:
    return [part for part in read if not part.setting and kind_of(part.choices[0]) != "tokenizer"]


def _part(part: Part, use: str, given: Mapping[str, Any]) -> Row | None:
    if part.optional and not use:
        return None
    cls = _named(use) if use else part.choices[0]
    cls = _named(OPEN[cls.__name__]) if cls.__name__ in OPEN else cls
    config = _CONFIGS.get(kind_of(cls), _settings)(cls, given)
    return {"class": cls.__name__, "module": release.home(cls), "config": config}


def _named(path: str) -> type:
    module, _, name = path.rpartition(".")
    return release.find(name, module)


def _network(cls: type, given: Mapping[str, Any]) -> Row:
    """The small values that differ from the constructor's own."""
    default = components.defaults(cls)
    small = {**narrowing.shrink(default), **rows.of_class(cls.__name__), **given}
    return {
        name: value for name, value in small.items() if name not in default or value != narrowing.plain(default[name])
    }


def _encoder(cls: type, given: Mapping[str, Any]) -> Row:
    """A model of transformers, made small as it is when it stands alone."""
    config_cls = cls.config_class
    small = special.amend(config_cls.model_type, shrink(config_cls().to_dict(), LADDER[0]))
    for own in (rows.of_class(cls.__name__), dict(given)):
        small = special.merge(small, own)
    return compact(config_cls, small)


def _settings(cls: type, given: Mapping[str, Any]) -> Row:
    """Schedulers and processors have no size: they keep their defaults."""
    return {**rows.of_class(cls.__name__), **given}


_CONFIGS: dict[str, Callable[[type, Mapping[str, Any]], Row]] = {"network": _network, "encoder": _encoder}


def _tokenizer(name: str, made: Mapping[str, Row | None], given: Mapping[str, Any]) -> Row | None:
    """The tokenizer of an encoder; none where the pipeline does without that encoder."""
    found = _TOKENIZER.fullmatch(name)
    before, number = (found[1] and f"{found[1]}_", found[2]) if found else ("", "")
    encoder = next((one for one in (pattern.format(before, number) for pattern in _ENCODERS) if one in made), None)
    if encoder is None:
        raise NoPart(f"{name} belongs to no text encoder")
    row = made[encoder]
    return row and {"class": "words", "module": WORDS, "config": {**tokenizers.config_for(_values(row)), **given}}


def _values(row: Row) -> dict[str, Any]:
    """All values of an encoder's configuration, those of its text part over its own."""
    config = release.find(row["class"], row["module"]).config_class(**row["config"])
    return {**config.to_dict(), **config.get_text_config().to_dict()}


def _latents(made: dict[str, Row | None]) -> None:
    """The general codec makes as many channels as the denoiser takes."""
    codec, denoiser = made.get("vae"), made.get("transformer") or made.get("unet")
    if not codec or not denoiser or codec["class"] != "AutoencoderKL" or "latent_channels" in codec["config"]:
        return
    cls = release.find(denoiser["class"], denoiser["module"])
    taken = {**components.defaults(cls), **denoiser["config"]}["in_channels"]
    codec["config"]["latent_channels"] = taken // 4 if PACKED.match(cls.__name__) else taken

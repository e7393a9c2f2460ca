"""What a pipeline is put together from, as its constructor says."""

from __future__ import annotations

import inspect
import types
import typing
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from . import release

# Parts that only watch what others make, or serve an adapter. Pipelines that list them as optional run without them;
# they list encoders too, for those who bring a text's encoding themselves.
LEFT_OUT = frozenset({"safety_checker", "feature_extractor", "image_encoder", "watermark", "watermarker"})


@dataclass(frozen=True)
class Part:
    """One argument of a pipeline's constructor: a class to be made, or a plain setting without one."""

    name: str
    choices: tuple[type, ...]  # the classes that it may have, as annotated
    optional: bool
    default: Any = None

    @property
    def setting(self) -> bool:
        """Whether it is a number, word or switch and no part at all."""
        return not self.choices


def read(pipeline: type) -> list[Part]:
    """The parts in the order of the constructor."""
    optional = LEFT_OUT.intersection(getattr(pipeline, "_optional_components", None) or ())
    parameters = list(inspect.signature(pipeline.__init__).parameters.values())[1:]
    named = [p for p in parameters if p.kind not in (p.VAR_KEYWORD, p.VAR_POSITIONAL)]
    return [_part(parameter, optional) for parameter in named]


def _part(parameter: inspect.Parameter, optional: frozenset[str]) -> Part:
    choices = tuple(dict.fromkeys(_classes(parameter.annotation)))
    lacking = parameter.default is None or parameter.name in optional
    default = None if parameter.default is parameter.empty else parameter.default
    return Part(parameter.name, choices, lacking, default)


def _classes(annotation: Any) -> list[type]:
    """The classes of the two libraries in an annotation; lists of them are for several parts of a kind at once."""
    if isinstance(annotation, types.UnionType) or typing.get_origin(annotation) is typing.Union:
        return [cls for inner in typing.get_args(annotation) for cls in _classes(inner)]
    if inspect.isclass(annotation) and annotation.__module__.partition(".")[0] in release.LIBRARIES:
        return [annotation]
    return []


def defaults(cls: type) -> dict[str, Any]:
    """The values that a class of diffusers is made with when none are given."""
    parameters = inspect.signature(cls.__init__).parameters
    return {name: p.default for name, p in parameters.items() if p.default is not p.empty}


def accepted(pipeline: type) -> Mapping[str, inspect.Parameter]:
    """What the pipeline's call takes."""
    call = pipeline.__call__
    while isinstance(call, partial):
        call = call.func
    return {name: p for name, p in inspect.signature(call).parameters.items() if name != "self"}

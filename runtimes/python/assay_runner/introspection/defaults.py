"""A type's default configuration, with what its classes leave out and its modelling code counts on."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from functools import cache
from typing import Any

from transformers import AutoConfig
from transformers.models.auto.configuration_auto import CONFIG_MAPPING

from assay_runner.workarounds import Fault

from .classes import modelling_module

FAULT = Fault(
    "transformers_turns_by_sections_that_are_not_there",
    "transformers",
    ("5.17.0", "5.22.2"),
    "modelling code turns by rotary sections that its default configuration does not name",
)

# Rotary sections (time, height, width) for code that turns by sections under a configuration that names none. The
# shrinker brings them to the size of a small head. The first two are alike for those that name height and width first.
SECTIONS = [24, 24, 16]


def default(config_cls: type, given: Mapping[str, Any]) -> dict[str, Any]:
    """The configuration that the class makes of the given values, as a dictionary, with its parts made whole."""
    return _node(config_cls(**given).to_dict(), config_cls)


def _node(values: dict[str, Any], config_cls: type) -> dict[str, Any]:
    parts: Mapping[str, type] = getattr(config_cls, "sub_configs", None) or {}
    whole = {key: _part(value, parts.get(key)) for key, value in values.items()}
    rope = whole.get("rope_parameters")
    if isinstance(rope, dict) and _plain(rope) and _turns_by_sections(config_cls):
        whole["rope_parameters"] = {"mrope_section": SECTIONS, **rope}
    return whole


def _part(value: Any, config_cls: type | None) -> Any:
    """A sub-configuration made whole; one that is left out although it has a class of its own is that class's default.

    A part that may be of any type stays out: nothing says of which.
    """
    if isinstance(value, dict) and value.get("model_type") in CONFIG_MAPPING:
        return _node(value, CONFIG_MAPPING[value["model_type"]])
    if value is None and config_cls not in (None, AutoConfig):
        return _node(config_cls().to_dict(), config_cls)
    return value


def _plain(rope: Mapping[str, Any]) -> bool:
    """Whether these are the parameters of one rotary embedding, not a table of them by kind of layer."""
    return bool(rope) and not any(isinstance(value, dict) for value in rope.values())


@cache
def _turns_by_sections(config_cls: type) -> bool:
    """Whether the module beside this configuration reads rotary sections."""
    module = modelling_module(config_cls)
    return module is not None and "mrope_section" in inspect.getsource(module)

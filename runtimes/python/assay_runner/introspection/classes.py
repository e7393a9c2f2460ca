"""The configuration and model classes of a type, whether or not an auto mapping names them."""

from __future__ import annotations

import importlib
import inspect
from types import ModuleType
from typing import Any

import transformers
from transformers import PreTrainedModel
from transformers.models.auto import modeling_auto
from transformers.models.auto.configuration_auto import CONFIG_MAPPING, CONFIG_MAPPING_NAMES

from .heads import BASE_TASK, heads_of


def all_types() -> list[str]:
    """Every model type of the installed release, sorted."""
    return sorted(CONFIG_MAPPING_NAMES)


def config_class(model_type: str) -> type:
    """The type's configuration class; KeyError when this release has no such type."""
    return CONFIG_MAPPING[model_type]


def modelling_module(config_cls: type) -> ModuleType | None:
    """The module beside a configuration that holds its models; None when there is none."""
    name = config_cls.__module__.replace("configuration_", "modeling_")
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as missing:
        if missing.name == name:
            return None
        raise


def model_class(config_cls: type, name: str) -> type | None:
    """The class of that name, from the package's front or from the type's own module."""
    found = getattr(transformers, name, None)
    return found if found is not None else getattr(modelling_module(config_cls), name, None)


def module_classes(config_cls: type) -> list[type]:
    """Models that the module defines for exactly this configuration: the bare one first, then in order of name."""
    module = modelling_module(config_cls)
    if module is None:
        return []
    found = [
        cls
        for cls in vars(module).values()
        if inspect.isclass(cls)
        and issubclass(cls, PreTrainedModel)
        and cls.__module__ == module.__name__
        and getattr(cls, "config_class", None) is config_cls
        and "forward" in vars(cls)
    ]
    return sorted(found, key=lambda cls: (not cls.__name__.endswith("Model"), cls.__name__))


def task_heads(model_type: str) -> list[tuple[str, str]]:
    """(task, class name) of every head, the default first; from the module when no mapping names the type."""
    config_cls = config_class(model_type)
    heads = heads_of(model_type, modeling_auto)
    if heads:
        return [head for head in heads if _takes(model_class(config_cls, head[1]), config_cls)] or heads
    return [(BASE_TASK, cls.__name__) for cls in module_classes(config_cls)]


def _takes(cls: type | None, config_cls: type) -> bool:
    """Whether a class is made from this configuration. A mapping may name a part's class, which takes the part's."""
    stated = getattr(cls, "config_class", None) if cls is not None else None
    return stated is None or issubclass(config_cls, stated) or stated.__name__ == config_cls.__name__


def in_auto_mappings(model_type: str) -> bool:
    """Whether any auto mapping has a class for the type."""
    return bool(heads_of(model_type, modeling_auto))


def signature(cls: type) -> dict[str, inspect.Parameter]:
    """The named parameters of a model's forward, in order; empty when it has no forward of its own."""
    forward: Any = getattr(cls, "forward", None)
    if forward is None or forward.__name__ == "_forward_unimplemented":
        return {}
    skip = (inspect.Parameter.VAR_KEYWORD, inspect.Parameter.VAR_POSITIONAL)
    parameters = inspect.signature(forward).parameters
    return {name: p for name, p in parameters.items() if name != "self" and p.kind not in skip}

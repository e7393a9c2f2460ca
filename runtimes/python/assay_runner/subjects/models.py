"""Finds the classes that a recipe names, and makes its configuration. What is built of them: `programs.building`."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Mapping
from importlib.util import find_spec
from typing import Any

from assay_runner.errors import BadRecipe, NotInRelease
from assay_runner.subjects import owncode

_NO_OTHER_BACKBONE = {"backbone": None, "use_timm_backbone": False}


def model_class(recipe: Mapping[str, Any]) -> type:
    """The class that a recipe names: from the top of transformers, or from its type's own module."""
    return _find(recipe["class"], recipe, "modeling")


def config_class(recipe: Mapping[str, Any]) -> type:
    """The configuration class that a recipe names, else the model class's own."""
    if not recipe.get("config_class"):
        return model_class(recipe).config_class
    return _find(recipe["config_class"], recipe, "configuration")


def _find(name: str, recipe: Mapping[str, Any], part: str) -> type:
    import transformers

    if not name.isidentifier():
        raise BadRecipe(f"{name!r} is not the name of a class")
    if own := recipe.get("code"):
        return owncode.found(own["folder"], own[part])
    found = getattr(transformers, name, None)
    kind = recipe.get("type", "").replace("-", "_")
    for module in (recipe.get("module", ""), f"transformers.models.{kind}.{part}_{kind}"):
        if found is None and module.startswith("transformers.models."):
            try:
                found = getattr(importlib.import_module(module), name, None)
            except ModuleNotFoundError:
                continue
    if not inspect.isclass(found) and recipe.get("type") and not in_release(recipe["type"]):
        raise NotInRelease(
            f"transformers {transformers.__version__} has no model type {recipe['type']!r}: install a later release"
        )
    if not inspect.isclass(found):
        raise BadRecipe(f"transformers {transformers.__version__} has no class {name}")
    return found


def in_release(model_type: str) -> bool:
    """Whether the installed transformers has a type, or a package of its name."""
    from transformers.models.auto.configuration_auto import CONFIG_MAPPING_NAMES

    package = model_type.replace("-", "_")
    return model_type in CONFIG_MAPPING_NAMES or (
        package.isidentifier() and find_spec(f"transformers.models.{package}") is not None
    )


def config(recipe: Mapping[str, Any], attention: str | None = None) -> Any:
    """The configuration; attention names an implementation, None leaves the choice to the library."""
    cls = config_class(recipe)
    values = _copied(recipe.get("config", {}))
    made = _as_read(cls, _unrivalled(cls, values))
    forbid_downloads(made)
    if attention is not None:
        made._attn_implementation = attention
    return made


def _unrivalled(cls: type, values: dict[str, Any]) -> dict[str, Any]:
    """Where a backbone's configuration is given, the defaults that name another one are taken back: older releases
    of transformers refuse both together."""
    if not values.get("backbone_config"):
        return values
    known = inspect.signature(cls.__init__).parameters
    return {name: value for name, value in _NO_OTHER_BACKBONE.items() if name in known} | values


def _as_read(cls: type, values: dict[str, Any]) -> Any:
    """The configuration as it is when read from a file: there, defaults that are tuples are lists."""
    made = cls(**_copied(values))
    known = inspect.signature(cls.__init__).parameters
    tuples = {name: list(value) for name, value in vars(made).items() if isinstance(value, tuple) and name in known}
    return cls(**{**tuples, **values}) if set(tuples) - set(values) else made


def forbid_downloads(made: Any) -> None:
    """No part of the configuration asks for published weights of a backbone: all weights are the cell's."""
    from transformers import PretrainedConfig

    for name, value in list(vars(made).items()):
        if isinstance(value, PretrainedConfig):
            forbid_downloads(value)
        elif name == "use_pretrained_backbone":
            made.use_pretrained_backbone = False


def _copied(value: Any) -> Any:
    """A deep copy of JSON values: configuration classes keep and change what they are given."""
    if isinstance(value, Mapping):
        return {k: _copied(v) for k, v in value.items()}
    return [_copied(v) for v in value] if isinstance(value, list) else value

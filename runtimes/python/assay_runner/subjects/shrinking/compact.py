"""Writes a configuration as the few values that differ from its class's own defaults."""

from __future__ import annotations

import copy
import json
from collections.abc import Mapping
from typing import Any

from transformers.models.auto.configuration_auto import CONFIG_MAPPING

# Values that say nothing about the model and differ between releases.
NOISE = frozenset({"transformers_version", "_name_or_path", "architectures", "dtype", "torch_dtype"})


def compact(config_cls: type, values: Mapping[str, Any]) -> dict[str, Any]:
    """The values that must be given to make this configuration again. All of them, where fewer do not give the same."""
    full = plain(values)
    wanted = _made(config_cls, full)
    try:
        short = _differing(full, plain(config_cls().to_dict()))
        found = _made(config_cls, short)
        # A default may be derived from another value, and come out otherwise once that one is small.
        short |= {key: full[key] for key, value in wanted.items() if key in full and found.get(key) != value}
        if _made(config_cls, short) == wanted:
            return short
    except Exception:  # noqa: BLE001 - a class that does not take the short form gets the long one
        pass
    return full


def _made(config_cls: type, values: Mapping[str, Any]) -> dict[str, Any]:
    return plain(config_cls(**copy.deepcopy(dict(values))).to_dict())


def _differing(values: Mapping[str, Any], default: Mapping[str, Any]) -> dict[str, Any]:
    kept = {}
    for key, value in values.items():
        if isinstance(value, Mapping) and isinstance(value.get("model_type"), str):
            kept[key] = _part(value)
        elif key not in NOISE and (key not in default or default[key] != value):
            kept[key] = value
    return kept


def _part(value: Mapping[str, Any]) -> dict[str, Any]:
    """A sub-configuration: its type, and what differs from that type's defaults."""
    kind = value["model_type"]
    if kind not in CONFIG_MAPPING:
        return dict(value)
    values = {key: v for key, v in value.items() if key != "model_type"}
    return {"model_type": kind, **_differing(values, plain(CONFIG_MAPPING[kind]().to_dict()))}


def plain(value: Any) -> Any:
    """The value as JSON has it: tuples are lists, names are strings, what JSON cannot write is its text."""
    return json.loads(json.dumps(value, default=str))

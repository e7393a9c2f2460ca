"""The sheet of facts about one model at one point: what a ``facts`` job answers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

from assay_runner.errors import BadRecipe
from assay_runner.subjects import inputs
from assay_runner.subjects.programs import building

from . import forwards, parameters

SCHEMA = 1
_TRACED = ("flops", "bytes", "activations", "operators")
_EXPERTS = {
    "eager": "the experts that tokens chose in this run",
    "grouped_mm": "for every token as many experts as it chooses, whichever they are",
    "batched_mm": "for every token as many experts as it chooses, whichever they are",
}


def of(recipe: Mapping[str, Any], point: Mapping[str, Any]) -> dict[str, Any]:
    """Every fact; what is not known is null and has its reason under ``missing``."""
    if not recipe.get("class"):
        raise BadRecipe("the job has no recipe that names a class")
    seen = forwards.see(recipe, point)
    sheet: dict[str, Any] = {
        "schema": SCHEMA,
        "evidence": "derived",
        **{key: recipe.get(key, "") for key in ("type", "class", "task", "size", "checkpoint")},
        "sizes": _sizes(recipe, point),
        "dtype": "float32",
        "method": seen.method or None,
        "attention": building.attention_of(seen.model),
        "experts": _experts(seen.experts),
        "inputs": seen.given,
        "outputs": seen.found,
        **_held(seen.model),
        **{name: seen.books[name].report() if seen.books else None for name in _TRACED},
        "notes": _notes(recipe, point),
    }
    reason = "; ".join(seen.troubles) or "unknown"
    return sheet | {"missing": {name: reason for name in _OPTIONAL if sheet[name] is None}}


_OPTIONAL = ("inputs", "outputs", "parameters", "weights_bytes", "buffers_bytes", *_TRACED)


def _held(model: torch.nn.Module | None) -> dict[str, Any]:
    if model is None:
        return {"parameters": None, "weights_bytes": None, "buffers_bytes": None}
    return {
        "parameters": parameters.report(model),
        "weights_bytes": parameters.weights_bytes(model),
        "buffers_bytes": parameters.buffers_bytes(model),
    }


def _experts(implementation: str | None) -> dict[str, str] | None:
    if implementation is None:
        return None
    return {"implementation": implementation, "counted": _EXPERTS.get(implementation, "unknown")}


def _sizes(recipe: Mapping[str, Any], point: Mapping[str, Any]) -> dict[str, int]:
    """The batch and those sizes that the recipe knows, as they were used."""
    known = {"batch", *recipe.get("sizes", {})}
    return {name: n for name, n in inputs.sizes(recipe, point).items() if name in known}


def _notes(recipe: Mapping[str, Any], point: Mapping[str, Any]) -> list[str]:
    """What was asked for and has no effect."""
    known = {"batch", *recipe.get("sizes", {})}
    idle = [name for name, n in point.items() if n and name not in known]
    return [f"{name} {point[name]} has no effect: this model's inputs do not depend on it" for name in idle]

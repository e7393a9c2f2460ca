"""The subject hash: what was computed, apart from where and how.

Over configuration, recipe, weights and inputs; not over dtype, device, threads
or library versions, so that results which may be compared have it equal. Drawn
weights count by name, shape and moments, whatever the order of modules.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from assay_runner.subjects import inputs

_VERSION = 2  # raised whenever what is hashed changes: hashes of different versions are never equal
_RECIPE = ("type", "class", "config_class", "task", "size", "checkpoint", "config", "inputs", "call")
_RECIPE_MAY = ("program", "parts", "tokens")  # hashed where given: recipes without them keep the hashes they had


def digest(recipe: Mapping[str, Any], weights: Mapping[str, Any], point: Mapping[str, Any], seed: int) -> str:
    """The hash of one point."""
    facts = {
        "version": _VERSION,
        "recipe": {name: recipe.get(name) for name in _RECIPE}
        | {name: recipe[name] for name in _RECIPE_MAY if recipe.get(name)},
        "weights": weights,
        "sizes": inputs.sizes(recipe, point),
        "seed": seed,
    }
    text = json.dumps(facts, sort_keys=True, separators=(",", ":"), default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:16]

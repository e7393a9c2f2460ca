"""Recipes of another release of transformers: taken as they are where they still hold.

A recipe belongs to the release that it was made with. Under another one it is
built and run first; where that fails the search is done again, so that a renamed
value or a new input costs a search and not a verdict.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

from assay_runner.subjects.fitting import special, verify
from assay_runner.subjects.fitting.search import Fitted
from assay_runner.subjects.programs import building

SEED = 0


def holds(recipe: Mapping[str, Any]) -> bool:
    """Whether the recipe's model can be built here, gives useful numbers alone and in batches, and heeds its inputs."""
    try:
        model = building.build(recipe, torch.float32, SEED).model
        fitted = Fitted(list(recipe["inputs"]), dict(recipe["sizes"]), dict(recipe["call"]))
        verify.holds(model, fitted, special.inputs(recipe).unheeded)
    except Exception:  # noqa: BLE001 - a type's own code may raise anything; any of it means a new search
        return False
    return True

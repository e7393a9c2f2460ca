"""A recipe's inputs for a forward without memory: real ones, except those so large that only their shape is kept."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import torch

from assay_runner.subjects import inputs
from assay_runner.subjects.expressions import evaluate

from .hollow import MOST_BYTES, Hollow

Values = Mapping[str, Any]


def make(recipe: Values, point: Values, run: Hollow, dtype: torch.dtype) -> dict[str, torch.Tensor]:
    """The named inputs of a point; floats are of the dtype."""
    return {spec["name"]: _input(recipe, spec, point, run, dtype) for spec in recipe.get("inputs", [])}


def _input(recipe: Values, spec: Values, point: Values, run: Hollow, dtype: torch.dtype) -> torch.Tensor:
    shape = [evaluate(entry, inputs.sizes(recipe, point)) for entry in spec.get("shape", [])]
    asked = getattr(torch, spec.get("dtype", "float32"), torch.float32)
    own = dtype if asked.is_floating_point else asked
    if spec.get("kind") != "value" and math.prod(shape) * own.itemsize > MOST_BYTES and min(shape) > 0:
        return run.blank(shape, own)
    return inputs.make({**recipe, "inputs": [spec]}, point, 0, dtype)[spec["name"]]

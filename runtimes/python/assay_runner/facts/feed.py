"""A recipe's inputs for a forward without memory: real ones, except those so large that only their shape is kept."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import torch

from assay_runner import inputs
from assay_runner.expressions import evaluate

from .hollow import MOST_BYTES, Hollow


def make(recipe: Mapping[str, Any], point: Mapping[str, Any], run: Hollow) -> dict[str, torch.Tensor]:
    """The named inputs of a point."""
    return {spec["name"]: _input(recipe, spec, point, run) for spec in recipe.get("inputs", [])}


def _input(recipe: Mapping[str, Any], spec: Mapping[str, Any], point: Mapping[str, Any], run: Hollow) -> torch.Tensor:
    shape = [evaluate(entry, inputs.sizes(recipe, point)) for entry in spec.get("shape", [])]
    dtype = getattr(torch, spec.get("dtype", "float32"), torch.float32)
    if spec.get("kind") != "value" and math.prod(shape) * dtype.itemsize > MOST_BYTES and min(shape) > 0:
        return run.blank(shape, dtype)
    return inputs.make({**recipe, "inputs": [spec]}, point, 0, torch.float32)[spec["name"]]

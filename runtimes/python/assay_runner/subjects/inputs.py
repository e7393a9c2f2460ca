"""Makes a recipe's inputs: the same bits on every machine, for a seed.

Each input has a stream of its own, keyed by seed and name. Floats are drawn in
float32 and then cast to the cell's dtype, so that two dtypes see the same
numbers up to rounding.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import torch

from assay_runner.errors import BadRecipe
from assay_runner.subjects import front_ends, stream
from assay_runner.subjects.expressions import evaluate

Spec = Mapping[str, Any]
Sizes = Mapping[str, int]

_UNIT = stream.Draw(0.0, 1 / math.sqrt(3.0))  # uniform in -1 to 1
_MAX_ELEMENTS = 1 << 34


def sizes(recipe: Mapping[str, Any], point: Mapping[str, Any]) -> dict[str, int]:
    """The names that shapes may use: the recipe's, with what the point sets over them."""
    return {"batch": 1, **recipe.get("sizes", {}), **{k: v for k, v in point.items() if v}}


def make(recipe: Mapping[str, Any], point: Mapping[str, Any], seed: int, dtype: torch.dtype) -> dict[str, torch.Tensor]:
    """The named inputs of a point, on the CPU."""
    names = sizes(recipe, point)
    return {spec["name"]: _input(spec, names, seed, dtype) for spec in recipe.get("inputs", [])}


def raw(recipe: Mapping[str, Any], point: Mapping[str, Any], seed: int) -> dict[str, np.ndarray]:
    """The material of the inputs that a front end makes."""
    names = sizes(recipe, point)
    made = [spec for spec in recipe.get("inputs", []) if spec.get("kind") == front_ends.KIND]
    return {spec["name"]: front_ends.raw(spec, _shape(spec, names), _key(spec, seed)) for spec in made}


def _input(spec: Spec, names: Sizes, seed: int, dtype: torch.dtype) -> torch.Tensor:
    kind = spec.get("kind", "")
    if kind not in _KINDS:
        raise BadRecipe(f"input {spec['name']!r} has unknown kind {kind!r}: the kinds are {', '.join(_KINDS)}")
    tensor = torch.from_numpy(_KINDS[kind](spec, _shape(spec, names), names, _key(spec, seed)))
    return tensor.to(_dtype(spec, dtype))


def _key(spec: Spec, seed: int) -> str:
    """The name of an input's stream."""
    return f"{seed}/input/{spec['name']}"


def _shape(spec: Spec, names: Sizes) -> tuple[int, ...]:
    shape = tuple(evaluate(entry, names) for entry in spec.get("shape", []))
    if any(n < 0 for n in shape) or math.prod(shape) > _MAX_ELEMENTS:
        raise BadRecipe(f"input {spec['name']!r} would have shape {list(shape)}, which cannot be made")
    return shape


def _dtype(spec: Spec, dtype: torch.dtype) -> torch.dtype:
    """A float input has the cell's dtype; every other one the dtype that its recipe names."""
    asked = getattr(torch, spec.get("dtype", "float32"), None)
    if not isinstance(asked, torch.dtype):
        raise BadRecipe(f"input {spec['name']!r} has unknown dtype {spec['dtype']!r}")
    return dtype if asked.is_floating_point else asked


def _ids(spec: Spec, shape: tuple[int, ...], names: Sizes, key: str) -> np.ndarray:
    low, high = spec.get("low", 0), spec["high"]
    if not 0 <= low < high <= 1 << 31:
        raise BadRecipe(f"input {spec['name']!r} draws ids from {low} up to {high}, which is not a range")
    ids = stream.integers(key, math.prod(shape), low, high).reshape(shape)
    for place in spec.get("place", []):
        start, count = evaluate(place["at"], names), evaluate(place.get("count", 1), names)
        if start < 0 or count < 0 or start + count > shape[-1]:
            raise BadRecipe(f"input {spec['name']!r} has no room for {count} ids at {start}: a row has {shape[-1]}")
        ids[..., start : start + count] = place["id"]
    return ids


def _float(spec: Spec, shape: tuple[int, ...], names: Sizes, key: str) -> np.ndarray:
    """Drawn numbers; with ``grid`` the first two of every patch are its row and column, counted from one."""
    drawn = stream.floats(key, math.prod(shape), _UNIT).reshape(shape)
    if columns := spec.get("grid"):
        if columns < 1 or len(shape) < 2 or shape[-1] < 2:
            raise BadRecipe(f"input {spec['name']!r} has shape {list(shape)}, which is not a grid of {columns} columns")
        drawn[..., 0], drawn[..., 1] = np.divmod(np.arange(shape[-2]), columns)
        drawn[..., :2] += 1
    return drawn


def _range(spec: Spec, shape: tuple[int, ...], names: Sizes, key: str) -> np.ndarray:
    """0, 1, 2 … along the last axis, the same for every row; with ``flat`` counting on from row to row."""
    if not shape:
        raise BadRecipe(f"input {spec['name']!r} of kind range needs a shape")
    if spec.get("flat"):
        return np.arange(math.prod(shape), dtype=np.int64).reshape(shape)
    return np.broadcast_to(np.arange(shape[-1], dtype=np.int64), shape).copy()


def _value(spec: Spec, shape: tuple[int, ...], names: Sizes, key: str) -> np.ndarray:
    value = np.asarray(spec["value"])
    if value.dtype == object:
        raise BadRecipe(f"input {spec['name']!r} has a value whose rows differ in length")
    return np.concatenate([value] * names["batch"]) if spec.get("per_batch") else value


_KINDS: dict[str, Callable[[Spec, tuple[int, ...], Sizes, str], np.ndarray]] = {
    "ids": _ids,
    "float": _float,
    "ones": lambda spec, shape, names, key: np.ones(shape, np.float32),
    "zeros": lambda spec, shape, names, key: np.zeros(shape, np.float32),
    "range": _range,
    "value": _value,
    front_ends.KIND: lambda spec, shape, names, key: front_ends.features(spec, shape, key),
}

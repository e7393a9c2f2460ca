"""Named inputs against a recipe: what is missing is filled in where it follows, and what cannot fit is refused.

A recipe says each input's shape by names (`batch`, `seq`, …). The sizes that given arrays have are read back from it:
they are the point at which an engine of fixed shapes is compiled.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import torch

from assay_runner.subjects import inputs
from assay_runner.subjects.expressions import evaluate

from .errors import BadInput

Arrays = dict[str, np.ndarray]
Recipe = Mapping[str, Any]
FOLLOW = frozenset({"ones", "zeros", "range", "value"})  # kinds of inputs that sizes alone decide


def drawn(recipe: Recipe, point: Mapping[str, int], seed: int) -> Arrays:
    """The recipe's own inputs at a point."""
    return {name: tensor.numpy() for name, tensor in inputs.make(recipe, point, seed, torch.float32).items()}


def arrays(given: Mapping[str, Any]) -> Arrays:
    """Tensors, arrays and lists as arrays."""
    return {name: _array(name, value) for name, value in given.items()}


def _array(name: str, value: Any) -> np.ndarray:
    if hasattr(value, "detach"):
        value = value.detach().cpu()
        value = value.float() if str(value.dtype) == "torch.bfloat16" else value
    array = np.asarray(value)
    if array.dtype.kind not in "fiub":
        raise BadInput(f"the input {name} is not an array of numbers")
    return array


def fitted(recipe: Recipe, given: Arrays, seed: int, exact: bool) -> tuple[Arrays, dict[str, int]]:
    """The inputs with those that follow from them, and the sizes that they have. Exactly the recipe's inputs and shapes
    are what a graph takes; torch's model may take more and has its own say on shapes."""
    specs = {spec["name"]: spec for spec in recipe.get("inputs", [])}
    missing = [name for name, spec in specs.items() if name not in given and spec["kind"] not in FOLLOW]
    if exact and (unknown := sorted(set(given) - set(specs))):
        raise BadInput(f"{recipe['class']} has no input {', '.join(unknown)} here: it takes {', '.join(specs)}")
    if missing:
        raise BadInput(f"{recipe['class']} is missing {', '.join(missing)}: it takes {', '.join(specs)}")
    point = sizes(recipe, given)
    follow = {name: array for name, array in drawn(recipe, point, seed).items() if name not in given}
    for name in specs.keys() & given.keys():
        _check(specs[name], given[name], inputs.sizes(recipe, point), exact)
    return {**follow, **given}, point


def sizes(recipe: Recipe, given: Arrays) -> dict[str, int]:
    """The sizes by which the recipe's shapes become those of the given arrays."""
    found: dict[str, int] = {}
    rows = [row for row in _axes(recipe, given) if len(row[2]) == 1]
    for entry, length, names in sorted(rows, key=lambda row: len(str(row[0]))):  # a bare name before a sum with it
        (name,) = names
        if name not in found and (size := _solved(entry, length, name)) is not None:
            found[name] = size
    return found


def _axes(recipe: Recipe, given: Arrays) -> Iterator[tuple[str, int, set[str]]]:
    for spec in recipe.get("inputs", []):
        array = given.get(spec["name"])
        if array is None or spec["kind"] == "value" or array.ndim != len(spec.get("shape", [])):
            continue
        for entry, length in zip(spec["shape"], array.shape, strict=True):
            if isinstance(entry, str):
                yield entry, length, {node.id for node in ast.walk(ast.parse(entry)) if isinstance(node, ast.Name)}


def _solved(entry: str, length: int, name: str) -> int | None:
    if entry == name:
        return length
    return next((size for size in range(length + 1) if evaluate(entry, {name: size}) == length), None)


def _check(spec: Mapping[str, Any], array: np.ndarray, names: Mapping[str, int], exact: bool) -> None:
    if spec["kind"] == "value":
        return
    shape = [evaluate(entry, names) for entry in spec["shape"]]
    if array.ndim != len(shape) or (exact and list(array.shape) != shape):
        said = ", ".join(map(str, spec["shape"]))
        raise BadInput(f"the input {spec['name']} has shape {list(array.shape)}: it takes [{said}], such as {shape}")

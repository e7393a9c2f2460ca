"""Names what computes in less than it was asked to.

An engine that is given float32 may compute in TF32, half precision or bfloat16 and say nothing. Its numbers are then
off by what that precision rounds away, which the recipe knows of each output: too much for float32, and not wrong.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from assay_runner.checking import tolerances

_PART = 0.1  # of a precision's own rounding: some of the operators computed in it are enough
_NAMES = {"fp16": "TF32 or fp16", "bf16": "bf16"}  # TF32 has the digits of fp16


def named(numbers: dict[str, Any], recipe: Mapping[str, Any], dtype: str) -> dict[str, Any]:
    """The numerics of a report. Where they do not pass for float32, and an error within the table is what a narrower
    precision gives, that is their `precision`, and they pass for what they are."""
    error, output = numbers.get("max_rel"), numbers.get("output", "")
    if dtype != "fp32" or numbers["pass"] or error is None or error > tolerances.TABLE[dtype]:
        return numbers
    for narrow in tolerances.NARROW:
        own = tolerances.known(recipe, narrow).get(output)
        if own is not None and _PART * own[0] <= error <= tolerances.FACTOR * own[0] and _within(numbers, own[1]):
            return numbers | {"pass": True, "precision": _NAMES[narrow]}
    return numbers


def _within(numbers: Mapping[str, Any], own: float) -> bool:
    """Whether the worst row, where rows were looked at, is off by no more than that precision's rounding makes it."""
    rows = numbers.get("rows")
    return rows is None or (rows["max_rel"] is not None and rows["max_rel"] <= tolerances.FACTOR * own)

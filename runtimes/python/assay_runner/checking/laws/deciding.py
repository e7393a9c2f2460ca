"""Whether what a law says is the same is the same.

As everywhere: twenty times the recipe's own rounding is allowed. Other lengths and other rows are rounded otherwise, so
what is off by more is tried (`steadiness`): it may be off by four times what roundings move it, and where the last bit
decides, nothing is proven.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import torch

from assay_runner.checking import further, numerics, steadiness
from assay_runner.checking.laws.case import Case
from assay_runner.checking.laws.law import BROKEN, HOLDS, INAPPLICABLE, UNKNOWN, Pair
from assay_runner.subjects.outputs import Tensors

Row = dict[str, Any]


def judged(case: Case, pairs: Iterable[Pair]) -> tuple[Row, Pair | None]:
    """What became of the pairs, the worst of them first, and that one."""
    rows = [(_judged(case, pair), pair) for pair in pairs]
    rows = [(row, pair) for row, pair in rows if row is not None]
    if not rows:
        return {"status": INAPPLICABLE, "why": "no output can be compared"}, None
    return max(rows, key=lambda found: (found[0]["status"] == BROKEN, found[0]["status"] == UNKNOWN, _far(found[0])))


def _far(row: Row) -> float:
    return math.inf if row["max_rel"] is None else row["max_rel"] / (row["tolerance"] or math.inf)


def _judged(case: Case, pair: Pair) -> Row | None:
    if pair.again is None:
        return _exact(pair)
    compared = numerics.compare(pair.found, pair.expected)
    if compared.unchecked or not (compared.errors or compared.exact):
        return None
    limit, status, why = case.tolerance, HOLDS, ""
    if compared.times(limit) > 1:
        moved = steadiness.moved(case.model, pair.again, pair.expected)
        limit = limit.moved(moved)
        if compared.times(limit) > 1:
            about = case.model, pair.again, pair.expected, case.tolerance.most
            ties = not steadiness.steady(moved, case.tolerance.most) or steadiness.doubtful(*about)
            status, why = (UNKNOWN, further.TIES) if ties else (BROKEN, pair.what)
    told = compared.report(limit, "")
    return {"status": status, "why": why, **{key: told[key] for key in ("max_rel", "tolerance", "output")}}


def _exact(pair: Pair) -> Row:
    """Of what must have the same bits."""
    for name, expected in pair.expected.items():
        got = pair.found.get(name)
        if got is None or got.shape != expected.shape or got.dtype != expected.dtype or not _same(got, expected):
            known = got is not None and got.shape == expected.shape
            error = numerics.compare({name: got}, {name: expected}).max_rel if known else math.inf
            far = error if math.isfinite(error) else None
            return {"status": BROKEN, "why": pair.what, "max_rel": far, "tolerance": 0.0, "output": name}
    return {"status": HOLDS, "why": "", "max_rel": 0.0, "tolerance": 0.0, "output": next(iter(pair.expected), "")}


def _same(one: torch.Tensor, other: torch.Tensor) -> bool:
    return torch.equal(one, other) or _bits(one) == _bits(other)


def _bits(t: torch.Tensor) -> bytes:
    return t.detach().contiguous().view(-1).view(torch.uint8).numpy().tobytes()


def described(sample: Tensors) -> Row:
    """The inputs that show something, as small JSON: shapes, and numbers where few."""
    told = {}
    for name, t in sample.items():
        told[name] = {"shape": list(t.shape)}
        if not t.is_floating_point() and t.numel() <= _FEW:
            told[name]["values"] = t.int().tolist()
    return told


_FEW = 64

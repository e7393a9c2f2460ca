"""The answer of a ``derive`` job: one census, and a verdict for each platform."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import torch

from assay_runner.errors import BadRecipe
from assay_runner.facts import forwards
from assay_runner.machine import devices

from . import dispatch, listed, unlisted
from .judge import Row, Table, judge, report
from .size_limits import Limits

SCHEMA = 1
_BOOKS = {"limits": Limits}


def of(
    recipe: Mapping[str, Any], point: Mapping[str, Any], dtype: str, platforms: Iterable[str], folder: str = ""
) -> dict[str, Any]:
    """What is derived of the recipe at a point; `folder` keeps torch's table."""
    if not recipe.get("class"):
        raise BadRecipe("the job has no recipe that names a class")
    targets = {name: unlisted.TARGETS[name] for name in platforms if name in unlisted.TARGETS}
    if not targets:
        raise BadRecipe(f"the job names none of the platforms that can be derived: {', '.join(unlisted.TARGETS)}")
    seen = _see(recipe, point, devices.dtype(dtype), list(targets) != ["cpu"])
    return {
        "schema": SCHEMA,
        "evidence": "derived",
        "torch": str(torch.__version__),
        "method": seen.method or None,
        "dtype": seen.dtype,
        "calls": sum(row.count for row in seen.rows),
        "operators": len({row.operator for row in seen.rows}),
        "targets": {
            name: _verdict(_there(seen, recipe, point, name, target), name, target, _table(name, folder))
            for name, target in targets.items()
        },
    }


def _there(
    seen: _Seen, recipe: Mapping[str, Any], point: Mapping[str, Any], name: str, target: unlisted.Target
) -> _Seen:
    """The census that counts for a target. One with dtypes that the target lacks is made again in its guise: libraries
    avoid them where they see such a device."""
    if not any(dtype in target.lacks for row in seen.rows for dtype in row.dtypes):
        return seen
    again = forwards.see(recipe, point, getattr(torch, seen.dtype), _BOOKS, name)
    return _Seen(again, getattr(torch, seen.dtype), seen.refusal)


def _table(name: str, folder: str) -> Table:
    return listed.table(name) if name in listed.LISTS else dispatch.table(folder)


class _Seen:
    """A census, in what dtype it was made, and why it was not made in the one that was asked for."""

    def __init__(self, seen: forwards.Seen, dtype: torch.dtype, refusal: str = "") -> None:
        self.method, self.refusal, self.troubles = seen.method, refusal, seen.troubles
        self.dtype = str(dtype).removeprefix("torch.")
        self.rows = [Row(*row) for row in seen.books["operators"].rows()] if seen.books else []
        self.limits: Limits = seen.books.get("limits", Limits())


def _see(recipe: Mapping[str, Any], point: Mapping[str, Any], dtype: torch.dtype, others: bool) -> _Seen:
    """The census in the asked dtype, else in float32, with what stands against the asked one."""
    seen = forwards.see(recipe, point, dtype, _BOOKS)
    if seen.method or dtype is torch.float32:
        return _Seen(seen, dtype)
    trouble = seen.troubles[0] if seen.troubles else ""
    if unlisted.MISMATCH.search(trouble):
        return _Seen(seen, dtype, trouble)
    wide = forwards.see(recipe, point, books=_BOOKS)
    if wide.method == forwards.SHAPES and trouble and not unlisted.VALUES.search(trouble):
        # Tensors without memory carry it in float32 and not in the other, and nothing asked for their values.
        return _Seen(wide, torch.float32, trouble)
    # It needs values. A run on the CPU has them; of what ends it, what holds for other devices is taken. Of the CPU
    # itself nothing is derived so: that would be no derivation.
    stop = forwards.stopped(recipe, point, dtype) if others else ""
    return _Seen(wide, torch.float32, stop if unlisted.MISMATCH.search(stop) else "")


def _verdict(seen: _Seen, name: str, target: unlisted.Target, table: Table) -> dict[str, Any]:
    found = judge(seen.rows, target, table, seen.limits.found(name)).report()
    if found["class"] == "unsupported-operator":
        return found
    # The trace is made of CPU tensors: what it says of a dtype holds for the CPU, and for others if no kernel says it.
    if seen.refusal and (name == "cpu" or unlisted.MISMATCH.search(seen.refusal)):
        return report("fails", "unsupported-dtype", why=seen.refusal)
    if seen.refusal:
        return report(None, why="it cannot be traced in the requested dtype: " + seen.refusal)
    if not seen.method:
        return report(None, why="its operators could not be seen: " + ("; ".join(seen.troubles) or "no way is known"))
    return found

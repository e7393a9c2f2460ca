"""Names and recipes: what a model's name means, by the program's catalogue and by its rules.

A type's name (`bert`) means the type made tiny; a checkpoint's, with or without its owner, means its true size. Case
does not matter, nor - against _ in types. The names that the program's tests resolve are resolved by this package's
tests too.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from . import tables
from .errors import UnknownModel, Unsupported

TINY, FULL = "tiny", "full"
_NEAREST = 3


@dataclass(frozen=True)
class Named:
    """What a name means: an entry of the catalogue, and the checkpoint where it names one."""

    entry: Mapping[str, Any]
    checkpoint: str = ""


@cache
def types() -> dict[str, Mapping[str, Any]]:
    """Every type of transformers and every pipeline of diffusers, by name."""
    return {row["type"]: row for file in ("types", "pipelines") for row in tables.catalogue(file)["types"]}


def resolve(name: str) -> Named:
    """What a name means; UnknownModel with the nearest names where it means nothing."""
    for look in (_type, _checkpoint, _common, _documented):
        if (found := look(name)) is not None:
            return found
    near = nearest(name)
    raise UnknownModel(f"unknown model {name!r}: the nearest names are {', '.join(near)}", near)


def nearest(name: str) -> list[str]:
    """The names that are most like one."""
    known = {_plain(one): one for one in (*types(), *(_bare(row["name"]) for row in _checkpoints()))}
    return [known[one] for one in difflib.get_close_matches(_plain(name), known, _NEAREST, 0.0)]


def recipe(named: Named, size: str) -> dict[str, Any]:
    """The catalogue's recipe; Unsupported, with the reason, where there is none."""
    kind = named.entry["type"]
    for row in _recipes(kind):
        if row["size"] == size and (size == TINY or not named.checkpoint or row["checkpoint"] == named.checkpoint):
            return row
    raise Unsupported(f"there is no recipe for {named.checkpoint or kind} at size {size}: {_why(named, size)}")


def _why(named: Named, size: str) -> str:
    if named.entry.get("component"):
        return "it is a component of other models and has no model class of its own"
    if size == FULL:
        return "its true configuration is not known; give a folder with its config.json"
    gaps = {row["type"]: row["reason"] for row in tables.catalogue("recipes")["gaps"]}
    return gaps.get(named.entry["type"], "no inputs are known with which it runs")


def _recipes(kind: str) -> Iterator[dict[str, Any]]:
    for file in ("recipes", "pipeline_recipes"):
        yield from (row for row in tables.catalogue(file)["recipes"] if row["type"] == kind)


def _checkpoints() -> list[Mapping[str, Any]]:
    return tables.catalogue("checkpoints")["checkpoints"]


def _type(name: str) -> Named | None:
    entry = types().get(name) or next((row for kind, row in types().items() if _plain(kind) == _plain(name)), None)
    return Named(entry) if entry else None


def _checkpoint(name: str) -> Named | None:
    row = next((row for row in _checkpoints() if _means(row["name"], name)), None)
    return Named(types()[row["type"]], row["name"]) if row else None


def _common(name: str) -> Named | None:
    meant = tables.catalogue("names")["names"].get(name.lower())
    return (_type(meant) or _checkpoint(meant)) if meant else None


def _documented(name: str) -> Named | None:
    """A checkpoint that a type's documentation names: its type is known, its configuration is not."""
    rows = [row for row in types().values() if _means(row.get("checkpoint", ""), name)]
    if not rows:
        return None
    checkpoint = rows[0]["checkpoint"]
    rows = [row for row in rows if row["checkpoint"] == checkpoint]
    if len(rows) == 1:
        return Named(rows[0], checkpoint)
    home = tables.catalogue("homes")["homes"].get(checkpoint)
    if home is None:
        kinds = [row["type"] for row in rows]
        several = f"{checkpoint} is in the documentation of several types ({', '.join(kinds)}): name one of them"
        raise UnknownModel(several, kinds[:_NEAREST])
    return Named(types()[home], checkpoint)


def _means(checkpoint: str, name: str) -> bool:
    return bool(name) and name.lower() in (checkpoint.lower(), _bare(checkpoint).lower())


def _bare(checkpoint: str) -> str:
    return checkpoint.rpartition("/")[2]


def _plain(name: str) -> str:
    return name.lower().replace("-", "_")

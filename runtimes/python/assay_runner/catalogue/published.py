"""Known checkpoints: their true configuration values, where those come from, and their published size.

A row of checkpoints.json says: the checkpoint's name, its type, class and task; ``published``, the exact
count of parameters that its publisher states, or null where nobody does; ``sizes``, what its inputs are
usually like; ``config``, the values that make the model; and ``source``, where those were found.
``python -m assay_runner checkpoints`` prints the table of docs/models.md.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from importlib import resources
from typing import Any

HEAD = "| checkpoint | type | parameters | published |\n| --- | --- | ---: | ---: |"
UNKNOWN = "–"


@cache
def checkpoints() -> tuple[dict[str, Any], ...]:
    """Every row of checkpoints.json, in its order."""
    text = resources.files("assay_runner").joinpath("data/checkpoints.json").read_text(encoding="utf-8")
    return tuple(json.loads(text)["checkpoints"])


def of_type(model_type: str) -> list[dict[str, Any]]:
    """The type's checkpoints; the first one is what "full" means where none is named."""
    return [row for row in checkpoints() if row["type"] == model_type]


def named(name: str) -> dict[str, Any]:
    """The checkpoint of that name, with or without its owner."""
    for row in checkpoints():
        if name in (row["name"], row["name"].rpartition("/")[2]):
            return row
    raise KeyError(f"no configuration is known for the checkpoint {name!r}")


def table(families: Mapping[str, str], counts: Mapping[str, int | None]) -> str:
    """The checkpoints as Markdown, a table for each family. Families are of types, counts of checkpoints."""
    return "\n\n".join(f"*{family}*\n\n{HEAD}\n" + "\n".join(lines) for family, lines in _grouped(families, counts))


def _grouped(families: Mapping[str, str], counts: Mapping[str, int | None]) -> Iterator[tuple[str, list[str]]]:
    for family in sorted({families[row["type"]] for row in checkpoints()}):
        rows = [row for row in checkpoints() if families[row["type"]] == family]
        yield family, [_line(row, counts[row["name"]]) for row in rows]


def _line(row: Mapping[str, Any], count: int | None) -> str:
    built, stated = (UNKNOWN if number is None else f"{number:,}" for number in (count, row["published"]))
    return f"| {row['name']} | {row['type']} | {built} | {stated} |"


def main(argv: Sequence[str] | None = None) -> int:
    """Prints the table, counting the parameters of every checkpoint without memory."""
    from assay_runner.introspection import type_facts
    from assay_runner.subjects.programs import building

    from . import model_types

    types = {row["type"] for row in checkpoints()}
    families = {name: model_types.entry(type_facts.read(name))["family"] for name in types}
    print(table(families, {row["name"]: building.parameter_count(row) for row in checkpoints()}))
    return 0

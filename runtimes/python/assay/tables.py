"""The tables that the program and this package share, as they are in the repository or in an installed package.

The catalogue's files belong to the Go program, which embeds them. Building the package takes them in as
`assay.data` (setup.py), so an installed package needs neither the program nor the repository, and a checkout
needs nothing copied. `platforms.json` is written from the program's own tables by a test of `internal/platform`.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

_HERE = Path(__file__).parent
_FOLDERS = (_HERE / "data", _HERE.parents[2] / "internal" / "catalog" / "data")


@cache
def catalogue(name: str) -> dict[str, Any]:
    """A file of the catalogue: types, recipes, checkpoints, names, …"""
    for folder in _FOLDERS:
        if (folder / f"{name}.json").is_file():
            return _read(folder / f"{name}.json")
    raise FileNotFoundError(f"this copy of assay has no {name}.json: install it from the repository, runtimes/python")


@cache
def platforms() -> dict[str, Any]:
    """The eight platforms: fallbacks, dtypes and preferences."""
    return _read(_HERE / "platforms.json")


def _read(path: Path) -> dict[str, Any]:
    return json.loads(path.read_text(encoding="utf-8"))

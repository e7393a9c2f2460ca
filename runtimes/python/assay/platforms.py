"""The eight platforms, their fallbacks and their dtypes: the program's own tables, read as data."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

from . import tables
from .errors import Unsupported

AUTO = "auto"


@dataclass(frozen=True)
class Platform:
    """One platform as the program knows it."""

    platform: str
    title: str
    device: str  # the default one; "" where there is only one
    engine: str  # which executes there
    in_pages: bool  # whether that engine runs in a browser
    dtypes: tuple[str, ...]  # what can be asked for, the default first
    fallback: tuple[str, ...]  # where a model goes, in order, when the platform cannot have it


@dataclass(frozen=True)
class Target:
    """A platform and one of its devices."""

    platform: Platform
    device: str
    pages: tuple[str, ...] = ()  # addresses of pages that wait for the model; none are asked for when they are needed

    def __str__(self) -> str:
        plain = self.device == self.platform.device
        return self.platform.platform if plain else f"{self.platform.platform}:{self.device}"


@cache
def every() -> dict[str, Platform]:
    """The platforms by name, in their fixed order."""
    lists = ("dtypes", "fallback")
    rows = [row | {name: tuple(row[name]) for name in lists} for row in tables.platforms()["platforms"]]
    return {row["platform"]: Platform(**row) for row in rows}


def parse(name: str) -> Target:
    """What a user named: a platform, or `platform:device`."""
    platform, _, device = name.strip().partition(":")
    known = every().get(platform.lower())
    if known is None:
        raise Unsupported(f"unknown platform {name!r}: the platforms are {', '.join(every())}, or auto")
    return Target(known, device or known.device)


def chain(target: Target) -> list[Target]:
    """A target and, in order, where a model goes that it cannot have."""
    others = (every()[name] for name in target.platform.fallback)
    return [target, *(Target(other, other.device) for other in others)]


def preferred(family: str) -> list[Target]:
    """Where a model of a family is tried, the best first."""
    shared = tables.platforms()
    order = next((row["order"] for row in shared["preference"] if family in row["families"]), shared["otherwise"])
    return [Target(every()[name], every()[name].device) for name in order]


def dtype(asked: Any) -> str | None:
    """A dtype by its name here; torch's names and torch's own dtypes are taken too. None stays."""
    if asked is None:
        return None
    name = str(asked).removeprefix("torch.").lower()
    found = tables.platforms()["spellings"].get(name, name)
    known = sorted({one for platform in every().values() for one in platform.dtypes})
    if found not in known:
        raise Unsupported(f"unknown dtype {str(asked)!r}: the dtypes are {', '.join(known)}")
    return found

"""Faults of libraries that something in this package works around, each beside what does so.

A fault is that a library computes something wrong, crashes, or refuses what the format that it reads allows. What is
absent by a specification, or left out on purpose, is none: WebGPU has no 64-bit integers, and torch.export follows no
loop whose length depends on values. Every fault has a reproducer of its name in tests/reproducers, which uses the
library without the workaround. It fails once the fault is gone, so that no workaround outlives its reason.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Fault:
    """One fault. Its arguments are literals or constants of the same module: tests read them without importing."""

    name: str  # that of its reproducer
    library: str  # as it is installed: a distribution of Python's, or a package of npm's
    seen_in: tuple[str, ...]  # the versions in which the reproducer saw it
    wrong: str
    only_on: str = ""  # the processors that show it, where others do not: there its absence says nothing

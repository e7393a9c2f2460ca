"""What the process that forks must not import, and what is to blame when it has threads anyway.

A process with a thread cannot be forked: its children would hang. Importing transformers imports whatever else is
installed and could be of use, and some of that starts a thread. No model needs the packages below, so they are hidden
from the imports that all models share; a model that brings its own code finds them again.
"""

from __future__ import annotations

import builtins
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from assay_runner.workarounds import Fault

from . import linux

FAULT = Fault("pyarrow_starts_a_thread", "pyarrow", ("26.0.1",), "importing it starts a thread of its allocator's")

PACKAGES = {
    "pyarrow": "its allocator starts a thread (jemalloc_bg_thd)",
    "pandas": "imports pyarrow",
    "sklearn": "imports pandas",
    "datasets": "imports pyarrow",
    "nltk": "imports sklearn",
}
"""Installed or not: name of the module, and what importing it does. Each was tried by itself."""


def hide() -> list[str]:
    """Hide the packages from every import that follows; those that are installed."""
    hidden = [name for name in PACKAGES if name not in sys.modules and find_spec(name)]
    for name in hidden:
        sys.modules[name] = None  # type: ignore[assignment]
    return hidden


def show() -> None:
    """Let the packages be imported again."""
    for name in PACKAGES:
        if sys.modules.get(name, hide) is None:
            del sys.modules[name]


@contextmanager
def watched() -> Iterator[list[str]]:
    """Inside, imports are watched: yields the names of those that left more threads than there were, innermost first.

    A thread that a module's import starts is there when the innermost import of that module ends.
    """
    blamed: list[str] = []
    if not linux.IS_LINUX:
        yield blamed
        return
    original, seen = builtins.__import__, linux.tasks()

    def counting(name: str, *args: Any, **kwargs: Any) -> Any:
        nonlocal seen
        known = name in sys.modules
        try:
            return original(name, *args, **kwargs)
        finally:
            if not known and (now := linux.tasks()) > seen:
                seen = now
                blamed.append(_package(name, *args, **kwargs))

    builtins.__import__ = counting
    try:
        yield blamed
    finally:
        builtins.__import__ = original


def _package(name: str, globals: Any = None, _locals: Any = None, _names: Any = (), level: int = 0) -> str:
    """The installed package that an import statement is about: its own, where the name is relative."""
    whole = (globals or {}).get("__package__") or name if level else name
    return whole.partition(".")[0]


def threads() -> list[str]:
    """The names of this process's other threads, as the kernel has them."""
    names = []
    for task in Path("/proc/self/task").iterdir():
        if int(task.name) != os.getpid():
            names.append((task / "comm").read_text().strip())
    return sorted(names)


def reason(blamed: list[str]) -> str:
    """Why no child can be forked, in a sentence."""
    names = threads()
    count = "a thread" if len(names) == 1 else f"{len(names)} threads"
    blame = f"importing {blamed[0]}" if blamed else "importing torch and transformers"
    return (
        f"{blame} started {count} ({', '.join(sorted(set(names)))}), and a process with threads cannot be forked: "
        "each job gets a fresh interpreter, and starts a few seconds later"
    )

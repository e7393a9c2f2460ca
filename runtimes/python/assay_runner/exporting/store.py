"""A content-addressed store of folders, safe with several processes.

An entry is a folder named by its key, with a manifest that is written last. It is made in a folder beside and renamed,
so that it is there whole or not at all; it is held by a shared lock while it is used, so that clearing up takes nothing
away that is in use. An entry whose files do not have the sizes in its manifest is removed and made again.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import json
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

try:
    import fcntl
except ImportError:  # Windows has none; there an entry is still made whole or not at all
    fcntl = None

SCHEMA = 1
MANIFEST = "manifest.json"


def key_of(facts: Mapping[str, Any]) -> str:
    """The key of what these facts decide, made by this code.

    An entry holds more than its own module wrote: outputs that the reference and the control gave, graphs that went
    through the exporter, programs and experts. So every key has the hash of the whole package, and nobody has to
    remember which modules were at work.
    """
    text = json.dumps({"code": code(), "facts": facts}, sort_keys=True, separators=(",", ":"), default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:32]


@functools.cache
def code(package: Path = Path(__file__).parents[1]) -> str:
    """A hash over the sources and tables of the runner: what other code made is another thing."""
    total = hashlib.sha256()
    for file in sorted(file for kind in ("*.py", "*.json") for file in package.rglob(kind)):
        total.update(file.relative_to(package).as_posix().encode() + b"\0" + file.read_bytes() + b"\0")
    return total.hexdigest()[:16]


@dataclass(frozen=True)
class Entry:
    """A whole folder of the store."""

    folder: Path
    manifest: Mapping[str, Any]
    made: bool  # now, and not found

    def path(self, name: str) -> Path:
        """A file of the entry."""
        return self.folder / name


Make = Callable[[Path], Mapping[str, Any]]
"""Fills a folder and gives the facts for its manifest."""


class Store:
    """The entries below one folder."""

    def __init__(self, root: Path) -> None:
        self.root = root

    @contextmanager
    def entry(self, kind: str, key: str, make: Make) -> Iterator[Entry]:
        """The entry of a key, made if it is not there whole, and held for as long as the context lasts."""
        with self._locked(key) as lock:
            found = self._find(key)
            if found is None:
                lock.exclusive()  # another process may make it meanwhile
                found = self._find(key) or self._make(kind, key, make)
                lock.shared()
            yield found

    def _folder(self, key: str) -> Path:
        return self.root / key[:2] / key

    def _find(self, key: str) -> Entry | None:
        folder = self._folder(key)
        try:
            manifest = json.loads((folder / MANIFEST).read_bytes())
            whole = manifest["schema"] == SCHEMA and manifest["key"] == key
            whole = whole and all((folder / name).stat().st_size == n for name, n in manifest["files"].items())
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            return None
        if not whole:
            return None
        with contextlib.suppress(OSError):  # a store that cannot be written can still be read
            os.utime(folder / MANIFEST)  # what was used last is removed last
        return Entry(folder, manifest, made=False)

    def _make(self, kind: str, key: str, make: Make) -> Entry:
        folder = self._folder(key)
        folder.parent.mkdir(parents=True, exist_ok=True)
        began = time.time()
        beside = Path(tempfile.mkdtemp(prefix=f"making-{key}-", dir=self.root))
        try:
            facts = dict(make(beside))
            files = {str(p.relative_to(beside)): p.stat().st_size for p in sorted(beside.rglob("*")) if p.is_file()}
            manifest = {"schema": SCHEMA, "key": key, "kind": kind, "made_at": int(began), "files": files, **facts}
            (beside / MANIFEST).write_text(json.dumps(manifest, indent=1, default=str))
            shutil.rmtree(folder, ignore_errors=True)
            beside.replace(folder)
        except BaseException:
            shutil.rmtree(beside, ignore_errors=True)
            raise
        return Entry(folder, manifest, made=True)

    @contextmanager
    def _locked(self, key: str) -> Iterator[_Lock]:
        locks = self.root / "locks"
        locks.mkdir(parents=True, exist_ok=True)
        with (locks / key).open("a") as file:
            lock = _Lock(file.fileno())
            lock.shared()
            yield lock


class _Lock:
    """A lock on an open file; it ends with the file."""

    def __init__(self, fd: int) -> None:
        self._fd = fd

    def shared(self) -> None:
        """Others may use the entry too; nobody makes or removes it."""
        if fcntl:
            fcntl.flock(self._fd, fcntl.LOCK_SH)

    def exclusive(self) -> None:
        """Nobody else has the entry."""
        if fcntl:
            fcntl.flock(self._fd, fcntl.LOCK_EX)

"""What only Linux can do for us: dying with the parent, inheriting orphans, counting threads.

Everything here is safe to call elsewhere, where it does nothing and says so.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import sys
from pathlib import Path

if os.name == "posix":
    import resource

IS_LINUX = sys.platform == "linux"

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
_RESET_PEAK = "5"

_libc = ctypes.CDLL(None, use_errno=True) if IS_LINUX else None


def die_with_parent(parent: int, sig: int = signal.SIGTERM) -> None:
    """Have the kernel send us the signal when our parent's thread ends; leave at once if it is gone already."""
    if _libc is None:
        return
    _libc.prctl(_PR_SET_PDEATHSIG, int(sig), 0, 0, 0)
    if os.getppid() != parent:
        os._exit(0)


def inherit_orphans() -> bool:
    """Become the parent of descendants whose own parents die, so that none of them escapes us."""
    return _libc is not None and _libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0


def tasks() -> int:
    """How many threads this process has, by the kernel's account: libraries' own threads count too."""
    return sum(1 for _ in Path("/proc/self/task").iterdir())


def children() -> list[int]:
    """The processes whose parent we are: ours, and those that we inherited. Zombies count."""
    try:
        return [int(pid) for pid in Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()]
    except OSError:
        return _children_by_search() if IS_LINUX else []


def _children_by_search() -> list[int]:
    # Kernels without CONFIG_PROC_CHILDREN.
    me = os.getpid()
    return [int(path.name) for path in Path("/proc").iterdir() if path.name.isdigit() and _parent_of(path.name) == me]


def _parent_of(pid: str) -> int | None:
    try:
        # The name in parentheses may hold anything, also parentheses.
        return int(Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[1])
    except (OSError, IndexError):
        return None


def prefer_as_victim() -> None:
    """When memory runs out, let the kernel take this process rather than Assay or somebody else's."""
    with contextlib.suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("1000")


def no_core_dump() -> None:
    """Die at once when dying by a signal: writing down gigabytes of torch takes a minute, and nobody reads them. Where
    the system pipes dumps to a program the kernel ignores a limit of 0; one of 1 it heeds."""
    if os.name == "posix":
        _, hard = resource.getrlimit(resource.RLIMIT_CORE)
        with contextlib.suppress(OSError, ValueError):  # a hard limit of 0 is not ours to raise
            resource.setrlimit(resource.RLIMIT_CORE, (1, hard if hard == resource.RLIM_INFINITY else max(1, hard)))


def reset_peak() -> None:
    """Forget the high-water mark of resident memory: what counts is what comes from here on. What was freed is given
    back first, else it would count as still in use."""
    if hasattr(_libc, "malloc_trim"):  # the GNU library has it
        _libc.malloc_trim(0)
    with contextlib.suppress(OSError):
        Path("/proc/self/clear_refs").write_text(_RESET_PEAK)


def raise_file_limit() -> None:
    """Two descriptors for each job under way can be more than the usual soft limit."""
    if os.name != "posix":
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wish = 8192 if hard == resource.RLIM_INFINITY else min(8192, hard)
    if soft != resource.RLIM_INFINITY and soft < wish:
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (wish, hard))

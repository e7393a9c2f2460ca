"""Host memory: what may be taken, and what was.

The peak is the kernel's high-water mark of resident memory, which the child
resets before its job begins; the baseline beside it is what the child inherited from its parent, most
of it imports. Everything is null where the system does not tell.
"""

from __future__ import annotations

import sys
from pathlib import Path

_STATUS = Path("/proc/self/status")
_MEMINFO = Path("/proc/meminfo")
_CGROUP = Path("/sys/fs/cgroup")
# (limit, usage) of the control group, version 2 and then 1.
_CGROUP_FILES = (
    ("memory.max", "memory.current"),
    ("memory/memory.limit_in_bytes", "memory/memory.usage_in_bytes"),
)


def _kib_field(path: Path, field: str) -> int | None:
    try:
        for line in path.read_text().splitlines():
            if line.startswith(field + ":"):
                return int(line.split()[1]) * 1024
    except (OSError, ValueError, IndexError):
        return None
    return None


def resident() -> int | None:
    """Bytes of this process that are in memory now."""
    return _kib_field(_STATUS, "VmRSS")


def peak() -> int | None:
    """The most bytes that were in memory at once since the mark was reset."""
    mark = _kib_field(_STATUS, "VmHWM")
    if mark is not None:
        return mark
    try:
        import resource
    except ImportError:  # Windows
        return None
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


class Host:
    """Host memory of one job: made at its beginning, reported after its last inference."""

    def __init__(self) -> None:
        self.baseline = resident()

    def report(self) -> dict[str, int | None]:
        """Baseline and peak."""
        mark = peak()
        if mark is not None and self.baseline is not None:
            mark = max(mark, self.baseline)  # the kernel's two counters are brought up to date at different times
        return {"host_baseline_bytes": self.baseline, "host_peak_bytes": mark}


def available() -> int | None:
    """Bytes that this process may still take: the least that machine and control group allow."""
    known = [_kib_field(_MEMINFO, "MemAvailable"), _cgroup_room()]
    return min((n for n in known if n is not None), default=None)


def _cgroup_room() -> int | None:
    for limit, usage in _CGROUP_FILES:
        try:
            return max(0, int((_CGROUP / limit).read_text()) - int((_CGROUP / usage).read_text()))
        except (OSError, ValueError):  # no such file, or "max": no limit
            continue
    return None

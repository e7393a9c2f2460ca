"""Jobs that do nothing, or one bad thing: they measure the harness and try what it can bear."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from typing import Any

from .emit import Emit
from .protocol import MAX_LINE

_FLOOD_PIECE = b"all work and no play makes a dull log\n" * 1700


def run(job: dict[str, Any], emit: Emit) -> None:
    """Do what the cell's task says."""
    task = job.get("cell", {}).get("task") or "nothing"
    if task not in TASKS:
        raise ValueError(f"unknown no-op task {task!r}: the tasks are {', '.join(TASKS)}")
    TASKS[task](job, emit, job.get("options") or {})


def _nothing(job: dict[str, Any], emit: Emit, _options: dict[str, Any]) -> None:
    for index, _ in enumerate(job.get("points") or [{}]):
        emit.point(index, _report(_samples(job, emit)))


def _samples(job: dict[str, Any], emit: Emit) -> list[float]:
    """Timings of nothing at all, as many as the rule's least count: what is left is the clock's own cost."""
    rule = job.get("timing")
    if not rule:
        return []
    emit.timed("begin")
    samples = []
    for _ in range(int(rule.get("min_n") or 1)):
        start = time.perf_counter_ns()
        samples.append((time.perf_counter_ns() - start) / 1e6)
    emit.timed("end")
    return samples


def _report(samples: list[float]) -> dict[str, Any]:
    return {"outputs": [], "numerics": None, "placement": {"device": "cpu"}, "samples_ms": samples, "phases_ms": {}}


def _sleep(_job: dict[str, Any], emit: Emit, options: dict[str, Any]) -> None:
    time.sleep(float(options.get("seconds", 1)))
    emit.point(0, _report([]))


def _hang(*_: Any) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    while True:
        time.sleep(3600)


def _crash(*_: Any) -> None:
    os.kill(os.getpid(), signal.SIGSEGV)


def _illegal(job: dict[str, Any], emit: Emit, options: dict[str, Any]) -> None:
    """Die as on a processor that announces what it cannot execute, unless libraries are kept from it; options.never
    does so in any case."""
    for index, _ in enumerate((job.get("points") or [{}])[1:]):
        emit.point(index, _report([]))
    if options.get("never") or not os.environ.get("ONEDNN_MAX_CPU_ISA"):
        os.kill(os.getpid(), signal.SIGILL)
    _nothing(job, emit, options)


def _abort(*_: Any) -> None:
    os.abort()


def _exit(_job: dict[str, Any], _emit: Emit, options: dict[str, Any]) -> None:
    sys.exit(int(options.get("status", 1)))


def _raise(_job: dict[str, Any], emit: Emit, options: dict[str, Any]) -> None:
    with emit.in_phase("build"):
        raise LookupError(options.get("message", "raised on purpose"))


def _flood(_job: dict[str, Any], emit: Emit, options: dict[str, Any]) -> None:
    left = int(options.get("bytes", 1 << 30))
    while left > 0:
        left -= os.write(1, _FLOOD_PIECE[: min(left, len(_FLOOD_PIECE))])
    emit.point(0, _report([]))


def _garbage(_job: dict[str, Any], emit: Emit, _options: dict[str, Any]) -> None:
    emit.raw(b"\xff\xfe this is not a message\n")
    _hang()


def _longline(_job: dict[str, Any], emit: Emit, _options: dict[str, Any]) -> None:
    emit.raw(b"x" * (MAX_LINE + 1))
    _hang()


def _grandchild(_job: dict[str, Any], emit: Emit, options: dict[str, Any]) -> None:
    """With options.session the grandchild leaves the process group; with options.stay the child lives on."""
    sleeper = [sys.executable, "-S", "-c", "import time; time.sleep(3600)"]
    process = subprocess.Popen(sleeper, start_new_session=bool(options.get("session")))
    process.returncode = 0  # it is meant to be left behind
    emit.data({"pid": process.pid})
    if options.get("stay"):
        _hang()


def _memory(_job: dict[str, Any], emit: Emit, options: dict[str, Any]) -> None:
    with emit.in_phase("build"):
        block = bytearray(int(options.get("bytes", 1 << 20)))
        for page in range(0, len(block), 4096):
            block[page] = 1
    emit.point(0, _report([]))


def _spin(_job: dict[str, Any], emit: Emit, options: dict[str, Any]) -> None:
    end = time.perf_counter() + float(options.get("seconds", 1))
    emit.timed("begin")
    while time.perf_counter() < end:
        pass
    emit.timed("end")
    emit.point(0, _report([]))


def _mute(_job: dict[str, Any], emit: Emit, _options: dict[str, Any]) -> None:
    emit.point(0, _report([]))
    os.close(1)
    os.close(2)


def _silent(*_: Any) -> None:
    os._exit(0)


TASKS = {
    "nothing": _nothing,
    "sleep": _sleep,
    "hang": _hang,
    "crash": _crash,
    "illegal": _illegal,
    "abort": _abort,
    "exit": _exit,
    "raise": _raise,
    "flood": _flood,
    "garbage": _garbage,
    "longline": _longline,
    "grandchild": _grandchild,
    "memory": _memory,
    "spin": _spin,
    "silent": _silent,
    "mute": _mute,
}
"""What a no-op can be asked for; docs/protocol.md says what each does."""

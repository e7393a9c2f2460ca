"""Does each piece of work in a child of its own: an engine that crashes or hangs ends one piece, and not the trial."""

from __future__ import annotations

import json
import os
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from assay_runner.machine import instructions

DIED = "died"
"""The key of an answer that no child gave: why not."""

slot = 0
"""Which of the children that run at once this one is: no two have the same number."""

_POLL_S = 0.02
T = TypeVar("T")


def prepare() -> None:
    """Imports what every child needs, once. Engines are imported by the children: they may start threads."""
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    instructions.settle(folder=Path(__file__).parents[2] / ".pytest_cache" / "instructions")
    from assay_runner.engines import preimporting

    preimporting.preimport()
    preimporting.before_fork({"kind": "check", "cell": {"engine": "onnxruntime"}})
    import torch

    torch.set_num_threads(1)


@dataclass
class _Child:
    item: Any
    answer: Path
    slot: int
    began: float


def each(
    items: Iterable[T], work: Callable[[T], dict[str, Any]], processes: int, limit_s: float, loud: bool = False
) -> Iterator[tuple[T, dict[str, Any]]]:
    """What the work gives of each item, in the order in which it is done."""
    waiting, running, slots = iter(items), {}, set(range(processes))
    with tempfile.TemporaryDirectory(prefix="trials-") as folder:
        try:
            while True:
                while slots and (item := next(waiting, None)) is not None:
                    child = _Child(item, Path(folder) / f"{time.monotonic_ns()}.json", slots.pop(), time.monotonic())
                    running[_forked(work, child, loud)] = child
                if not running:
                    return
                for pid in list(running):
                    if (done := _ended(pid, running[pid], limit_s)) is not None:
                        child = running.pop(pid)
                        slots.add(child.slot)
                        yield child.item, done
                time.sleep(_POLL_S)
        finally:
            for pid in running:
                os.killpg(pid, signal.SIGKILL)
                os.waitpid(pid, 0)


def _forked(work: Callable[[T], dict[str, Any]], child: _Child, loud: bool) -> int:
    global slot
    sys.stdout.flush()
    if pid := os.fork():
        return pid
    status = 1
    try:
        os.setsid()
        slot = child.slot
        if not loud:
            nothing = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nothing, 1)
            os.dup2(nothing, 2)
        child.answer.write_text(json.dumps(_answer(work, child.item), default=str))
        status = 0
    finally:
        os._exit(status)


def _answer(work: Callable[[T], dict[str, Any]], item: T) -> dict[str, Any]:
    try:
        return work(item)
    except Exception as error:  # noqa: BLE001 - whatever it is, the trial says it and goes on
        last = traceback.extract_tb(error.__traceback__)[-1]
        where = f"{Path(last.filename).name}:{last.lineno}"
        return {DIED: f"{type(error).__name__}: {error} ({where})"[:500]}


def _ended(pid: int, child: _Child, limit_s: float) -> dict[str, Any] | None:
    ended, status = os.waitpid(pid, os.WNOHANG)
    if not ended:
        if time.monotonic() - child.began < limit_s:
            return None
        os.killpg(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        return {DIED: f"not done within {limit_s:.0f} s"}
    if child.answer.exists() and not status:
        return json.loads(child.answer.read_text())
    return {DIED: f"ended with signal {os.WTERMSIG(status)}" if os.WIFSIGNALED(status) else "ended without an answer"}

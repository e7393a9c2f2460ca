"""Calls a function in fresh forked processes, several in parallel, each with a time limit.

What crashes or hangs costs only its own answer. The parent is one thread that waits, so
that forking it is safe.
"""

from __future__ import annotations

import multiprocessing
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from typing import Any

MOST_BYTES = 12 << 30
PATIENCE_S = 10  # for a process that has answered to end


@dataclass(frozen=True)
class Outcome:
    """What became of one call: its answer, or why there is none."""

    argument: Any
    answer: Any = None
    trouble: str = ""


@dataclass
class _Call:
    argument: Any
    process: Any
    answers: Connection
    deadline: float


Function = Callable[[Any], Any]


def outcomes(function: Function, arguments: Sequence[Any], workers: int, limit_s: float) -> Iterator[Outcome]:
    """Yields an outcome for each argument, in the order in which they finish."""
    left, calls = deque(arguments), []
    try:
        while left or calls:
            while left and len(calls) < workers:
                calls.append(_begin(function, left.popleft(), limit_s))
            patience = min(call.deadline for call in calls) - time.monotonic()
            ready = wait([call.answers for call in calls], timeout=max(0.0, patience))
            for call in [c for c in calls if c.answers in ready or time.monotonic() > c.deadline]:
                calls.remove(call)
                yield _end(call, limit_s)
    finally:
        for call in calls:
            call.process.kill()
            call.process.join()


def _begin(function: Function, argument: Any, limit_s: float) -> _Call:
    context = multiprocessing.get_context("fork")
    ours, theirs = context.Pipe(duplex=False)
    process = context.Process(target=_child, args=(function, argument, theirs), daemon=True)
    process.start()
    theirs.close()
    return _Call(argument, process, ours, time.monotonic() + limit_s)


def _child(function: Function, argument: Any, answers: Connection) -> None:
    _bounded(MOST_BYTES)
    answers.send(function(argument))


def _bounded(size: int) -> None:
    """Bounds what this process may allocate, where the system can: a shape that asks for more raises MemoryError
    instead of taking the machine's memory from everything else."""
    try:
        import resource
    except ImportError:
        return
    resource.setrlimit(resource.RLIMIT_DATA, (size, size))


def _end(call: _Call, limit_s: float) -> Outcome:
    try:
        answer = call.answers.recv() if call.answers.poll() else None
    except EOFError:
        answer = None
    late = answer is None and time.monotonic() > call.deadline
    if not late:
        call.process.join(PATIENCE_S)
    call.process.kill()  # also one that has answered and does not end
    call.process.join()
    call.answers.close()
    if answer is not None:
        return Outcome(call.argument, answer)
    why = f"no answer in {limit_s:g} s" if late else f"died with status {call.process.exitcode}"
    return Outcome(call.argument, trouble=why)

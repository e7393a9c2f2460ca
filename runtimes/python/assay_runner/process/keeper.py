"""The process in front of the zygote, which leaves nothing behind when it or Assay dies.

The zygote itself notices the end of its input only between two of its tasks, and importing torch is a long one; and if
it is killed outright, nobody is left to reap its children. So the process that Assay starts forks the zygote at once,
and from then on only sleeps until one of two things happens: the input ends, or the zygote does. It inherits every
orphan below it, so nothing escapes, whatever group or session it moved to.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import sys
import time

from . import linux

PATIENCE_S = 0.6
"""How long the zygote may take to end by itself after its input has ended."""


def keep(stdin: int, private_stdout: int) -> None:
    """Fork. In the child, return: it becomes the zygote. The parent stays here and never returns."""
    if not linux.inherit_orphans():
        return
    keeper = os.getpid()
    wake_read, wake_write = os.pipe()
    os.set_blocking(wake_write, False)
    zygote = os.fork()
    if zygote == 0:
        os.close(wake_read)
        os.close(wake_write)
        linux.die_with_parent(keeper, signal.SIGTERM)
        return
    os.close(private_stdout)
    signal.set_wakeup_fd(wake_write, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    told: list[int] = []
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda number, _frame: told.append(number))
    status = _watch(zygote, stdin, wake_read, told)
    _end_all()
    os._exit(_as_own(status))


def _signal(pid: int, number: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, number)


def _watch(zygote: int, stdin: int, wake: int, told: list[int]) -> int:
    """Sleep until the zygote has ended, and make it end when the input has or we are told to. Returns its status."""
    poll = select.poll()
    poll.register(wake, select.POLLIN)
    # Asking for no event at all leaves the hang-up alone: jobs that come in are the zygote's to read.
    poll.register(stdin, 0)
    deadline: float | None = None
    while True:
        patience = None if deadline is None else max(0.0, deadline - time.monotonic()) * 1e3
        for fd, _ in poll.poll(patience):
            if fd == stdin:
                poll.unregister(stdin)
                deadline = time.monotonic() + PATIENCE_S
            else:
                os.read(wake, 512)
        if told:
            _signal(zygote, told.pop())
            deadline = deadline or time.monotonic() + PATIENCE_S
        if deadline is not None and time.monotonic() >= deadline:
            _signal(zygote, signal.SIGKILL)
            deadline = None
        status = _reap_until(zygote)
        if status is not None:
            return status


def _reap_until(zygote: int) -> int | None:
    """Reap whatever has ended; the zygote's wait status if it is among them."""
    while True:
        pid, status = os.waitpid(-1, os.WNOHANG)
        if pid in (0, zygote):
            return status if pid else None


def _end_all() -> None:
    """Kill and reap every descendant: each death hands its children to us, until none is left."""
    while True:
        for pid in linux.children():
            _signal(pid, signal.SIGKILL)
        try:
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        except ChildProcessError:
            return
        time.sleep(0.002)


def _as_own(status: int) -> int:
    """The zygote's end as our exit status."""
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        sys.stderr.write(f"assay_runner: the zygote was ended by signal {number}\n")
        sys.stderr.flush()
        return 128 + number
    return os.WEXITSTATUS(status)

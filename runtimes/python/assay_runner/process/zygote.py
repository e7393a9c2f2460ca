"""The supervisor that forks: one loop, one thread, nothing computed, so that its children start clean.

A child that inherits a thread pool, an OpenMP team or a CUDA context hangs or crashes at its first operation. So the
zygote only imports, and before each fork the kernel's count of its threads must be one. It sleeps until a descriptor is
ready: its input, a child's messages, a child's output, or the signal that a process below it ended.
"""

from __future__ import annotations

import contextlib
import gc
import os
import selectors
import signal
import sys
import time
from collections.abc import Callable
from functools import partial
from typing import Any

from . import child, linux, noop  # noqa: F401  (noop is imported so that each child has it already)
from .forked import PIECE, Forked, pipes
from .protocol import Writer, encode
from .supervision import LAST_WORDS_S, Supervisor, exit_of, group_exists, kill_group

_STRAYS_EVERY_S = 0.5
_ROOM = 60 << 10  # what a pipe takes at once on every Linux: nobody waits for a child that does not read
_END_S = 0.5


class StartError(Exception):
    """There could be no child."""


class Zygote(Supervisor[Forked]):
    """Takes jobs from `stdin` and answers on `out` until the input ends. It is its own process's main loop."""

    def __init__(self, stdin: int, out: Writer, preload: Callable[[dict[str, Any]], None] | None = None) -> None:
        super().__init__(out)
        self._stdin = stdin
        self._preload = preload
        # Not epoll: it refuses files, and is shared with every child that inherits it.
        self._selector = selectors.PollSelector()
        self._by_pid: dict[int, Forked] = {}
        self._spoilt = False
        self._next_search = float("inf")
        self._wake_read, self._wake_write = os.pipe()

    def serve(self) -> None:
        """The loop. Returns when everything below is gone."""
        self._catch_signals()
        self._selector.register(self._stdin, selectors.EVENT_READ, self._read_stdin)
        self._selector.register(self._wake_read, selectors.EVENT_READ, self._woken)
        try:
            while not self.stopping and (self.jobs or not self._spoilt):
                for key, _ in self._selector.select(self._patience()):
                    key.data()
                self._keep_appointments()
        except BrokenPipeError:
            pass  # Assay is gone; so are we
        finally:
            self._end_all()

    def _catch_signals(self) -> None:
        for fd in (self._wake_read, self._wake_write):
            os.set_blocking(fd, False)
        signal.set_wakeup_fd(self._wake_write, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self.stop)

    def _read_stdin(self) -> None:
        self.heard(os.read(self._stdin, PIECE))

    def kill(self, one: Forked) -> None:
        """Kill the child's whole group."""
        kill_group(one.pid)

    def run(self, job_id: str, job: dict[str, Any]) -> None:
        """Fork a child for the job, or hand it to one that stayed."""
        reuse = str(job.get("reuse") or "")
        if reuse and self._hand_over(reuse, job_id, job):
            return
        if job.get("kind") == "time" or _is_large(job):
            self._dismiss()
        one = Forked(job_id, self.out, reuse)
        imported_ms = self._import_for(job)
        try:
            self._fork(one, job)
        except (OSError, StartError) as error:
            one.exit(start_error=str(error))
            return
        one.started(one.pid)
        if imported_ms:
            one.phase("import", imported_ms)

    # Children.

    def _import_for(self, job: dict[str, Any]) -> float:
        """Import the model's module once for all its repeats. What goes wrong here goes wrong again in the child."""
        if not (job.get("preload") or job.get("laws")) or self._preload is None:
            return 0.0
        known, start = len(sys.modules), time.perf_counter()
        with contextlib.suppress(Exception):
            self._preload(job)
        if len(sys.modules) == known:
            return 0.0
        gc.freeze()
        return (time.perf_counter() - start) * 1e3

    def _fork(self, one: Forked, job: dict[str, Any]) -> None:
        if (count := linux.tasks()) != 1:
            self._spoilt = True
            raise StartError(
                f"the runner has {count} threads, and a child forked from it would hang: "
                "an imported library started them"
            )
        zygote = os.getpid()
        messages, protocol, prints, output, *jobs = pipes(3 if one.reuse else 2)
        source, one.more = jobs or (None, -1)
        ours, theirs = [messages, prints, *jobs[1:]], [protocol, output, *jobs[:1]]
        try:
            pid = os.fork()
            if pid == 0:
                try:
                    child.after_fork(job, zygote, protocol, output, [*self._descriptors(), *ours], source)
                finally:
                    os._exit(70)
        except OSError:
            for fd in ours:
                os.close(fd)
            raise
        finally:
            for fd in theirs:
                os.close(fd)
        with contextlib.suppress(OSError):  # the child does it too; whoever comes first
            os.setpgid(pid, pid)
        one.pid, one.prints = pid, prints
        self.jobs[one.id] = self._by_pid[pid] = one
        self._listen(one, messages, self._hear)
        self._listen(one, prints, lambda one, piece: one.log.add(piece))

    def _descriptors(self) -> list[int]:
        registered = [key.fd for key in self._selector.get_map().values()]
        own = [self.out.fd, self._wake_write, *(one.more for one in self._by_pid.values())]
        return [fd for fd in registered + own if fd > 2]

    def _listen(self, one: Forked, fd: int, hear: Callable[[Forked, bytes], None]) -> None:
        os.set_blocking(fd, False)
        one.open.add(fd)
        self._selector.register(fd, selectors.EVENT_READ, partial(self._read, one, fd, hear))

    def _read(self, one: Forked, fd: int, hear: Callable[[Forked, bytes], None]) -> None:
        if fd not in one.open:
            return
        try:
            piece = os.read(fd, PIECE)
        except BlockingIOError:  # what was there has been taken meanwhile: see take_prints
            return
        if piece:
            hear(one, piece)
            return
        self._close(one, fd)
        self._settle(one)

    def _close(self, one: Forked, fd: int) -> None:
        one.open.discard(fd)
        self._selector.unregister(fd)
        os.close(fd)

    def _hear(self, one: Forked, piece: bytes) -> None:
        if not one.hear(piece) and not one.ended:
            kill_group(one.pid)
        if one.done and one.id in self.jobs and not one.killed:
            self._rest(one)

    # Children that stay.

    def _rest(self, one: Forked) -> None:
        """The child has finished its job and waits for another. All that it printed is in the pipe."""
        one.take_prints()
        one.status = 0
        one.exit()
        del self.jobs[one.id]
        one.before += 1
        one.begin("")
        if one.prints not in one.open:  # what it prints next would be lost
            kill_group(one.pid)

    def _resting(self) -> list[Forked]:
        return [one for one in self._by_pid.values() if one.rests]

    def _hand_over(self, reuse: str, job_id: str, job: dict[str, Any]) -> bool:
        """Give the job to a child that rests; False when there is none."""
        line = encode(job)
        fitting = [one for one in self._resting() if one.reuse == reuse]
        if len(line) > _ROOM or not fitting:
            return False
        for one in fitting:
            try:
                Writer(one.more).send_line(line)
            except OSError:  # it has just died
                continue
            one.begin(job_id)
            self.jobs[job_id] = one
            one.started(one.pid)
            return True
        return False

    def _dismiss(self) -> None:
        """End those that rest, and wait until they are gone: a timed job has the machine to itself, and a model of its
        true size finds no memory taken by contexts that nobody needs now."""
        for one in self._resting():
            kill_group(one.pid)
            os.waitid(os.P_PID, one.pid, os.WEXITED | os.WNOWAIT)
        self._reap()

    # Ends.

    def _woken(self) -> None:
        with contextlib.suppress(BlockingIOError):
            os.read(self._wake_read, 512)
        self._reap()

    def _reap(self) -> None:
        """Take note of every process below us that ended, ours or inherited."""
        while (pid := _ended_process()) is not None:
            one = self._by_pid.get(pid)
            if one is not None:
                kill_group(pid)  # before it is reaped: until then nobody else can have its number
            _, status, usage = os.wait4(pid, 0)
            if one is not None:
                one.gone(*exit_of(status), usage)
                one.overdue = time.monotonic() + LAST_WORDS_S
                self._next_search = min(self._next_search, time.monotonic() + _STRAYS_EVERY_S)
        for one in [one for one in self._by_pid.values() if one.ended]:
            self._settle(one)
        if self._idle() and _has_children():
            self._kill_strays()

    def _idle(self) -> bool:
        """Whether no job is alive."""
        return all(one.ended or one.rests for one in self._by_pid.values())

    def _kill_strays(self) -> None:
        """Kill everything below us but what rests. Only where no job is alive: an inherited process that left its group
        does not tell whose it was, and it may be a living job's."""
        self._next_search = float("inf")
        rest = {one.pid for one in self._resting()}
        for pid in set(linux.children()) - rest:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def _settle(self, one: Forked) -> None:
        """Say its exit if the child, its group and all that it wrote are through."""
        late = time.monotonic() >= one.overdue
        gone = one.pid not in self._by_pid
        if gone or not one.ended or (not late and (one.open or group_exists(one.pid))):
            return
        for fd in list(one.open):
            self._close(one, fd)
        if one.more >= 0:
            os.close(one.more)
        del self._by_pid[one.pid]
        if self.jobs.pop(one.id, None):  # one that rested had no job
            one.exit()

    def _patience(self) -> float | None:
        """How long nothing can be due: for ever, unless a child has just ended."""
        due = min((one.overdue for one in self._by_pid.values()), default=float("inf"))
        due = min(due, self._next_search)
        return None if due == float("inf") else max(0.0, due - time.monotonic())

    def _keep_appointments(self) -> None:
        now = time.monotonic()
        if now >= self._next_search:
            self._next_search = float("inf")
            if self._idle() and _has_children():  # else the last job's end brings the next search
                self._kill_strays()
        for one in [one for one in self._by_pid.values() if now >= one.overdue]:
            self._settle(one)

    def _end_all(self) -> None:
        """Kill every group and reap; the keeper in front of us sees to what is left."""
        for pid in self._by_pid:
            kill_group(pid)
        end = time.monotonic() + _END_S
        while _has_children() and time.monotonic() < end:
            self._kill_strays()
            while (pid := _ended_process()) is not None:
                os.wait4(pid, 0)
            time.sleep(0.002)


def _is_large(job: dict[str, Any]) -> bool:
    return job.get("kind") == "check" and (job.get("cell") or {}).get("size") != "tiny"


def _ended_process() -> int | None:
    """A process below us that ended and is not reaped yet."""
    try:
        info = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return None
    return None if info is None else info.si_pid


def _has_children() -> bool:
    try:
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return False
    return True

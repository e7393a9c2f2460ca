"""The supervisor that starts a fresh interpreter for each job: for systems that cannot fork safely, or at all.

Blocking threads wait for each child's messages, output and end, and put what they see on one queue; only the main
thread acts. So nothing polls, and nothing is needed that Windows lacks. Where processes have groups the whole group is
killed; on Windows it is the tree below the child.
"""

from __future__ import annotations

import contextlib
import os
import queue
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from functools import partial
from typing import Any

from . import linux
from .protocol import Writer, encode
from .supervision import LAST_WORDS_S, Supervised, Supervisor, exit_of, kill_group

_PIECE = 1 << 16
_MOST_PIECES = 16
_POSIX = os.name == "posix"
_CAN_PEEK = hasattr(os, "waitid")


class Spawned(Supervised):
    """A spawned child, and how much of it is still to come."""

    process: subprocess.Popen[bytes]
    reading = 2

    def kill(self) -> None:
        """Kill the child and what it started."""
        if _POSIX:
            kill_group(self.pid)
        else:
            subprocess.run(["taskkill", "/F", "/T", "/PID", str(self.pid)], capture_output=True, check=False)


class Spawner(Supervisor[Spawned]):
    """Takes jobs from `stdin` and answers on `out` until the input ends."""

    def __init__(self, stdin: int, out: Writer) -> None:
        super().__init__(out)
        self._stdin = stdin
        self._todo: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()

    def serve(self) -> None:
        """The loop. Returns when every child is killed."""
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: self._todo.put(self.stop))
        self._read(self._stdin, self.heard)
        try:
            while not self.stopping:
                with contextlib.suppress(queue.Empty):
                    self._todo.get(timeout=self._patience())()
                for one in [one for one in self.jobs.values() if time.monotonic() >= one.overdue]:
                    self._settle(one)
        finally:
            self._end_all()

    def _read(self, fd: int, hear: Callable[[bytes], None]) -> None:
        """Read in a thread, hear in the main thread; b"" is the end. A flood waits for us rather than piling up."""
        room = threading.Semaphore(_MOST_PIECES)

        def heard(piece: bytes) -> None:
            room.release()
            hear(piece)

        def read() -> None:
            piece = None
            while piece != b"":
                room.acquire()
                try:
                    piece = os.read(fd, _PIECE)
                except OSError:
                    piece = b""
                self._todo.put(partial(heard, piece))

        threading.Thread(target=read, daemon=True).start()

    def kill(self, one: Spawned) -> None:
        """Kill the job's child and what it started."""
        one.kill()

    def run(self, job_id: str, job: dict[str, Any]) -> None:
        """Start a child."""
        one = Spawned(job_id, self.out)
        try:
            one.process = _start(job.get("env") or {})
        except OSError as error:
            one.exit(start_error=str(error))
            return
        self.jobs[job_id] = one
        one.started(one.process.pid)
        threading.Thread(target=_hand_over, args=(one.process, encode(job)), daemon=True).start()
        self._read(one.process.stdout.fileno(), partial(self._heard_child, one))
        self._read(one.process.stderr.fileno(), partial(self._printed, one))
        threading.Thread(target=self._wait, args=(one,), daemon=True).start()

    def _heard_child(self, one: Spawned, piece: bytes) -> None:
        if not piece:
            self._one_less(one)
        elif not one.hear(piece) and not one.ended:
            one.kill()

    def _printed(self, one: Spawned, piece: bytes) -> None:
        one.log.add(piece)
        if not piece:
            self._one_less(one)

    def _one_less(self, one: Spawned) -> None:
        one.reading -= 1
        self._settle(one)

    def _wait(self, one: Spawned) -> None:
        """In a thread: see that the child ended. Where it can be seen without reaping, its number stays its own."""
        if _CAN_PEEK:
            os.waitid(os.P_PID, one.pid, os.WEXITED | os.WNOWAIT)
        else:
            one.process.wait()
        self._todo.put(partial(self._ended, one))

    def _ended(self, one: Spawned) -> None:
        one.kill()
        if _CAN_PEEK:
            _, status, usage = os.wait4(one.pid, 0)
            one.process.returncode = status  # reaped: nobody is to wait for this number again
            one.gone(*exit_of(status), usage)
        else:
            code = one.process.returncode
            one.gone(max(code, 0), max(-code, 0))
        one.overdue = time.monotonic() + LAST_WORDS_S
        self._end_orphans()
        self._settle(one)

    def _settle(self, one: Spawned) -> None:
        """Say its exit if the child and all that it wrote are through."""
        late = time.monotonic() >= one.overdue
        if one.ended and one.id in self.jobs and (late or not one.reading):
            del self.jobs[one.id]
            one.process.stdin.close()
            if not late:
                one.process.stdout.close()
                one.process.stderr.close()
            one.exit()

    def _end_orphans(self) -> None:
        """Kill and reap what we inherited from children that are no more."""
        alive = {one.pid for one in self.jobs.values() if not one.ended}
        while strays := [pid for pid in linux.children() if pid not in alive and _group(pid) not in alive]:
            for pid in strays:
                with contextlib.suppress(ProcessLookupError, ChildProcessError):
                    os.kill(pid, signal.SIGKILL)
                    os.waitpid(pid, 0)

    def _patience(self) -> float | None:
        due = min((one.overdue for one in self.jobs.values()), default=float("inf"))
        return None if due == float("inf") else max(0.0, due - time.monotonic())

    def _end_all(self) -> None:
        for one in self.jobs.values():
            if not one.ended:
                one.kill()
                with contextlib.suppress(ChildProcessError):
                    one.process.wait()
        self.jobs.clear()
        self._end_orphans()


def _start(env: dict[str, str]) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", "assay_runner", "child", str(os.getpid())],
        bufsize=0,
        env={**os.environ, **env},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=_POSIX,
        creationflags=getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0),
    )


def _hand_over(process: subprocess.Popen[bytes], line: bytes) -> None:
    """Write the job. The pipe stays open: its end would tell the child that we are gone."""
    with contextlib.suppress(OSError, ValueError):
        Writer(process.stdin.fileno()).write(line)


def _group(pid: int) -> int | None:
    try:
        return os.getpgid(pid)
    except ProcessLookupError:
        return None

"""A child as its supervisor sees it: what it said, what it printed, how it ended. The same for fork and spawn."""

from __future__ import annotations

import contextlib
import os
import sys
import time
from typing import Any, Generic, TypeVar

from .protocol import Lines, ProtocolError, Writer, decode, decode_event, encode

HEAD = 16 << 10
TAIL = (48 << 10) - 128  # with the words between head and tail the log stays within 64 KiB


LAST_WORDS_S = 2.0
"""How long an exit waits for a process that left its group and still holds the child's pipes."""


class Log:
    """The head and the tail of what a child printed. A gigabyte costs no more memory than a page."""

    def __init__(self) -> None:
        self.bytes = 0
        self._head = b""
        self._tail = b""

    def add(self, piece: bytes) -> None:
        """Take more output."""
        self.bytes += len(piece)
        if len(self._head) < HEAD:
            room = HEAD - len(self._head)
            self._head += piece[:room]
            piece = piece[room:]
        if piece:
            self._tail = piece[-TAIL:] if len(piece) >= TAIL else (self._tail + piece)[-TAIL:]

    def text(self) -> str:
        """The log as text; bytes that are no UTF-8 become question marks, so that it does not grow."""
        left_out = self.bytes - len(self._head) - len(self._tail)
        middle = f"\n[… {left_out} bytes left out …]\n".encode() if left_out else b""
        return (self._head + middle + self._tail).decode("utf-8", "replace").replace("\ufffd", "?")


class Supervised:
    """One job's child. Whatever becomes of it, exit() is said exactly once."""

    def __init__(self, job_id: str, out: Writer) -> None:
        self.pid = 0
        self.before = 0
        """How many jobs it has carried out already."""
        self._out = out
        self.begin(job_id)

    def begin(self, job_id: str) -> None:
        """Nothing is known yet of how this job goes."""
        self.id = job_id
        self.log = Log()
        self.killed = ""
        self.protocol_error = ""
        self.status: int | None = None
        self.signal = 0
        self.usage: dict[str, float] | None = None
        self.done = False
        """Whether the child has finished this job and stays for another."""
        self.overdue = float("inf")
        """When its exit is said even if something still holds its pipes."""
        self._lines = Lines()

    @property
    def ended(self) -> bool:
        """Whether the child itself is gone and its status known."""
        return self.status is not None

    def started(self, pid: int) -> None:
        """The child exists."""
        self.pid = pid
        self._out.send({"ev": "started", "id": self.id, "pid": pid, "pgid": pid, "before": self.before})

    def phase(self, name: str, ms: float) -> None:
        """A phase that the runner itself went through on behalf of the job."""
        self._out.send({"ev": "phase", "id": self.id, "name": name, "ms": ms})

    def hear(self, piece: bytes) -> bool:
        """Relay what the child says. False when it broke the protocol and is to be killed; the rest is not heard."""
        if self.protocol_error:
            return True
        try:
            for line in self._lines.feed(piece):
                self._relay(line)
        except ProtocolError as error:
            self.protocol_error = str(error)
            return False
        return True

    def _relay(self, line: bytes) -> None:
        event = decode_event(line)
        if event["ev"] == "done":
            self.done, self.usage = True, event["usage"]
            return
        event["id"] = self.id
        if event["ev"] == "timed":
            event["runner_cpu_s"] = time.process_time()
        try:
            self._out.send_line(encode(event))
        except (ValueError, RecursionError) as error:
            raise ProtocolError(str(error)) from None

    def gone(self, status: int, signal: int, usage: Any = None) -> None:
        """The child ended, with this status or by this signal."""
        self.status, self.signal = status, signal
        if usage is not None:
            self.usage = {"user_s": usage.ru_utime, "system_s": usage.ru_stime, "max_rss_bytes": _peak(usage)}

    def exit(self, start_error: str = "") -> None:
        """Say the last word."""
        self._out.send(
            {
                "ev": "exit",
                "id": self.id,
                "status": -1 if self.status is None else self.status,
                "signal": self.signal,
                "usage": self.usage,
                "killed": self.killed,
                "log": self.log.text(),
                "log_bytes": self.log.bytes,
                "protocol_error": self.protocol_error,
                "start_error": start_error,
            }
        )


_One = TypeVar("_One", bound=Supervised)


class Supervisor(Generic[_One]):
    """What every supervisor does with Assay's messages. How children are started and killed is each one's own."""

    def __init__(self, out: Writer) -> None:
        self.out = out
        self.jobs: dict[str, _One] = {}
        self.stopping = False
        self._lines = Lines()

    def run(self, job_id: str, job: dict[str, Any]) -> None:
        """Start the job's child, or say why there is none."""
        raise NotImplementedError

    def kill(self, one: _One) -> None:
        """Kill the child's whole group."""
        raise NotImplementedError

    def stop(self, *_: Any) -> None:
        """End as soon as what is under way in the loop is done."""
        self.stopping = True

    def heard(self, piece: bytes) -> None:
        """Obey what Assay says; b"" is the end of its messages."""
        if not piece:
            self.stop()
        for line in self._lines.feed(piece):
            if not self.stopping:
                self._obey(decode(line))

    def _obey(self, message: dict[str, Any]) -> None:
        op = message.get("op")
        if op == "run":
            self._run(message)
        elif op == "kill":
            self._kill(message)
        elif op == "bye":
            self.stop()
        else:
            raise ProtocolError(f"unknown op {op!r}")

    def _run(self, message: dict[str, Any]) -> None:
        job_id, job = message.get("id"), message.get("job")
        if not isinstance(job_id, str) or not isinstance(job, dict) or not job_id or job_id in self.jobs:
            raise ProtocolError("a run message needs an id of its own and a job")
        self.run(job_id, job)

    def _kill(self, message: dict[str, Any]) -> None:
        # A job that is not there has just ended: its exit and this message met on the way.
        one = self.jobs.get(str(message.get("id")))
        if one is not None and not one.ended:
            one.killed = one.killed or str(message.get("reason") or "asked to")
            self.kill(one)


def exit_of(status: int) -> tuple[int, int]:
    """Exit status and signal of a wait status."""
    return (0, os.WTERMSIG(status)) if os.WIFSIGNALED(status) else (os.WEXITSTATUS(status), 0)


def _peak(usage: Any) -> int:
    return usage.ru_maxrss if sys.platform == "darwin" else usage.ru_maxrss * 1024


def kill_group(pgid: int) -> None:
    """Kill every process of the group, whatever signals it ignores."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pgid, 9)


def group_exists(pgid: int) -> bool:
    """Whether a process of the group is left, be it a zombie."""
    try:
        os.killpg(pgid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True

"""How the code that runs a job reports: phases, points, answers and failures."""

from __future__ import annotations

import contextlib
import time
import traceback
from collections.abc import Iterator
from typing import Any

from .protocol import MAX_LINE, ROOM, Writer, encode

_MOST_MESSAGE = 16 << 10
_MOST_TRACEBACK = 64 << 10
_MARK = "_assay_phase"


class Emit:
    """One job's reporter, in the child. It is used from one thread.

    An exception that escapes the job becomes a `failure` that names the phase and the point it arose in; an engine that
    can go on with the next point reports the failure itself and goes on.
    """

    def __init__(self, writer: Writer) -> None:
        self._writer = writer
        self._phases: list[str] = []
        self.index: int | None = None
        """The point that is being carried out; engines set it, failures name it."""

    def phase(self, name: str, ms: float) -> None:
        """A phase ended, and took so long."""
        self._send(ev="phase", name=name, ms=ms)

    @contextlib.contextmanager
    def in_phase(self, name: str) -> Iterator[None]:
        """Time the block and report it as a phase. If it raises, there is no phase, and the failure names it."""
        self._phases.append(name)
        start = time.perf_counter()
        try:
            yield
        except BaseException as error:
            # The exception itself carries where it arose: what handles it may be far away, and may be none of ours.
            with contextlib.suppress(AttributeError):
                if not hasattr(error, _MARK):
                    setattr(error, _MARK, name)
            raise
        finally:
            self._phases.pop()
        self.phase(name, (time.perf_counter() - start) * 1e3)

    def timed(self, state: str) -> None:
        """The timed phase of a point begins or ends: "begin" or "end"."""
        self._send(ev="timed", state=state)

    def point(self, index: int, report: dict[str, Any]) -> None:
        """A point is finished."""
        self._send(ev="point", index=index, report=report)

    def data(self, data: dict[str, Any]) -> None:
        """The answer of a job that is a question."""
        self._send(ev="data", data=data)

    def failure(self, error: BaseException, index: int | None = None) -> None:
        """An exception ended the point, or, without an index and outside any point, the job."""
        kinds = [_dotted(kind) for kind in type(error).__mro__ if kind is not object]
        self._send(
            ev="failure",
            index=self.index if index is None else index,
            phase=getattr(error, _MARK, self._phases[-1] if self._phases else ""),
            type=kinds[0],
            bases=kinds[1:],
            message=_bounded(_text(error), _MOST_MESSAGE),
            traceback=_bounded("".join(traceback.format_exception(error)), _MOST_TRACEBACK),
        )

    def raw(self, line: bytes) -> None:
        """Write bytes as they are. Only the no-op jobs that break the protocol on purpose need it."""
        self._writer.write(line)

    def _send(self, **message: Any) -> None:
        self._writer.send_line(encode(message), MAX_LINE - ROOM)


def _dotted(kind: type) -> str:
    """The class's name as tracebacks write it: without a module when it is built in."""
    return kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"


def _text(error: BaseException) -> str:
    try:
        return str(error)
    except Exception as second:
        return f"(its message could not be read: {type(second).__name__})"


def _bounded(text: str, most: int) -> str:
    """The head and the tail of a text: what was called, and what went wrong."""
    if len(text) <= most:
        return text
    return f"{text[: most // 4]}\n[… {len(text) - most} characters left out …]\n{text[-(most - most // 4) :]}"

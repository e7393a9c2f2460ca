"""The messages: JSON objects, one per line, bounded, never with NaN or infinity in them."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterator
from typing import Any

MAX_LINE = 8 << 20
"""The most bytes of a message, its newline not counted."""

ROOM = 4096
"""What a child leaves free of MAX_LINE, so that its runner can add the id and still be within it."""

_LARGEST_INDEX = 1 << 31


class ProtocolError(Exception):
    """The other side wrote what is not a message."""


def encode(message: dict[str, Any]) -> bytes:
    """One message as its line. What is not finite becomes null: null is unknown, and JSON has nothing better."""
    try:
        text = json.dumps(message, allow_nan=False, separators=(",", ":"))
    except ValueError:
        text = json.dumps(finite(message), allow_nan=False, separators=(",", ":"))
    return text.encode("ascii") + b"\n"


def finite(value: Any) -> Any:
    """The value with None wherever it held NaN or an infinity."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: finite(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [finite(item) for item in value]
    return value


def decode(line: bytes) -> dict[str, Any]:
    """The message that a line holds."""
    try:
        message = json.loads(line.decode(), parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        raise ProtocolError(f"{excerpt(line)} is not JSON: {error}") from None
    if not isinstance(message, dict):
        raise ProtocolError(f"{excerpt(line)} is not a JSON object")
    return message


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not allowed")


def excerpt(line: bytes) -> str:
    """Enough of a line to recognise it."""
    text = ascii(line[:80].decode("utf-8", "replace"))
    return text + "…" if len(line) > 80 else text


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _is_index(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < _LARGEST_INDEX


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_object(value: Any) -> bool:
    return isinstance(value, dict)


EVENTS = {
    "phase": {"name": _is_text, "ms": _is_number},
    "timed": {"state": lambda value: value in ("begin", "end")},
    "point": {"index": _is_index, "report": _is_object},
    "failure": {
        "index": lambda value: value is None or _is_index(value),
        "phase": _is_text,
        "type": _is_text,
        "bases": lambda value: isinstance(value, list) and all(map(_is_text, value)),
        "message": _is_text,
        "traceback": _is_text,
    },
    "data": {"data": _is_object},
    "done": {"usage": lambda value: value is None or _is_object(value)},
}
"""What a child may say, and what must hold of each field. The runner itself says hello, started and exit; `done` is
for the runner alone: a child that stays for further jobs has finished one."""


def decode_event(line: bytes) -> dict[str, Any]:
    """The event that a child wrote, checked, so that no child can make its runner say what Assay must refuse."""
    event = decode(line)
    fields = EVENTS.get(str(event.get("ev")))
    if fields is None:
        raise ProtocolError(f"{excerpt(line)} has no known ev")
    for name, holds in fields.items():
        if name not in event or not holds(event[name]):
            raise ProtocolError(f"{excerpt(line)}: field {name!r} is missing or wrong")
    return event


class Lines:
    """Cuts what arrives in pieces into lines, and never holds more than one of MAX_LINE."""

    def __init__(self, limit: int = MAX_LINE) -> None:
        self._limit = limit
        self._rest = bytearray()

    def feed(self, piece: bytes) -> Iterator[bytes]:
        """The lines that are complete with this piece, without their newlines."""
        *complete, rest = piece.split(b"\n")
        for line in complete:
            self._add(line)
            yield bytes(self._rest)
            self._rest.clear()
        self._add(rest)

    def _add(self, part: bytes) -> None:
        if len(self._rest) + len(part) > self._limit:
            raise ProtocolError(f"a line is longer than {self._limit} bytes")
        self._rest += part


class Writer:
    """Writes messages to a descriptor, each whole before the next."""

    def __init__(self, fd: int) -> None:
        self.fd = fd

    def send(self, message: dict[str, Any]) -> None:
        """Write one message. A message over the limit is a ValueError and nothing is written."""
        self.send_line(encode(message))

    def send_line(self, line: bytes, limit: int = MAX_LINE) -> None:
        """Write one encoded message."""
        if len(line) > limit + 1:
            raise ValueError(f"a message of {len(line)} bytes is longer than the {limit} that the protocol allows")
        self.write(line)

    def write(self, line: bytes) -> None:
        """Write bytes as they are."""
        view = memoryview(line)
        while view:
            view = view[os.write(self.fd, view) :]


def take_stdout() -> int:
    """A private copy of descriptor 1 for messages; descriptor 1 itself then leads to standard error.

    So what libraries print, from Python or from C, never reaches the protocol.
    """
    private = os.dup(1)
    os.dup2(2, 1)
    return private


def take_stdin() -> int:
    """A private copy of descriptor 0 for messages; descriptor 0 itself then leads nowhere."""
    private = os.dup(0)
    nowhere = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nowhere, 0)
    os.close(nowhere)
    return private

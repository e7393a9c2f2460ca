"""The messages and what the child reports, without any process."""

from __future__ import annotations

import json
import math
import os

import pytest

from assay_runner.process.emit import Emit
from assay_runner.process.protocol import MAX_LINE, Lines, ProtocolError, Writer, decode, decode_event, encode
from assay_runner.process.supervision import Log, Supervised


class Memory(Writer):
    """A writer whose lines stay here."""

    def __init__(self) -> None:
        super().__init__(-1)
        self.lines: list[bytes] = []

    def write(self, line: bytes) -> None:
        self.lines.append(line)

    @property
    def messages(self) -> list[dict]:
        return [json.loads(line) for line in self.lines]


def test_what_is_not_finite_becomes_null():
    message = {"a": math.nan, "b": [math.inf, 1.5, (-math.inf,)], "c": {"d": math.nan}, "e": "NaN", "f": True}
    expected = {"a": None, "b": [None, 1.5, [None]], "c": {"d": None}, "e": "NaN", "f": True}
    assert json.loads(encode(message)) == expected


def test_a_message_is_one_line_of_ascii():
    line = encode({"text": "a\nb ❄ \ud800"})
    assert line.endswith(b"\n") and line.count(b"\n") == 1 and line.isascii()


@pytest.mark.parametrize(
    "line", [b"", b"[]", b"nul", b'{"a":NaN}', b'{"a":Infinity}', b"\xff\xfe{", b"[" * 100_000, b'{"a":1} {}']
)
def test_what_is_no_object_is_refused(line):
    with pytest.raises(ProtocolError):
        decode(line)


@pytest.mark.parametrize("size", [1, 2, 3, 7, 1000])
def test_lines_do_not_depend_on_how_they_arrive(size):
    lines = [b"", b"a", b"bc" * 50, b"", b"d"]
    whole = b"".join(line + b"\n" for line in lines)
    cutter = Lines()
    got = [line for i in range(0, len(whole), size) for line in cutter.feed(whole[i : i + size])]
    assert got == lines


def test_a_line_over_the_limit_is_refused_and_those_before_it_stand():
    cutter = Lines(limit=10)
    assert list(cutter.feed(b"0123456789\n")) == [b"0123456789"]
    feed = cutter.feed(b"ok\n" + b"x" * 11)
    assert next(feed) == b"ok"
    with pytest.raises(ProtocolError, match="longer than 10"):
        next(feed)


GOOD = [
    {"ev": "phase", "name": "build", "ms": 1},
    {"ev": "timed", "state": "begin"},
    {"ev": "point", "index": 0, "report": {}},
    {"ev": "failure", "index": None, "phase": "", "type": "E", "bases": [], "message": "", "traceback": ""},
    {"ev": "data", "data": {}, "more": 1},
]
BAD = [
    {},
    {"ev": "hello", "protocol": 1},
    {"ev": "exit", "status": 0},
    {"ev": ["point"]},
    {"ev": "phase", "name": "build", "ms": "1"},
    {"ev": "phase", "name": "build"},
    {"ev": "timed", "state": "middle"},
    {"ev": "point", "index": -1, "report": {}},
    {"ev": "point", "index": True, "report": {}},
    {"ev": "point", "index": 1 << 40, "report": {}},
    {"ev": "point", "index": 0, "report": []},
    {"ev": "failure", "index": None, "phase": "", "type": "E", "bases": [1], "message": "", "traceback": ""},
    {"ev": "data", "data": 3},
]


@pytest.mark.parametrize("event", GOOD)
def test_events_are_relayed_under_the_job_s_own_id(event):
    out = Memory()
    child = Supervised("7", out)
    assert child.hear(encode(event | {"id": "another"}))
    (relayed,) = out.messages
    assert relayed.pop("id") == "7"
    if event["ev"] == "timed":
        assert relayed.pop("runner_cpu_s") > 0
    assert relayed == event


@pytest.mark.parametrize("event", BAD)
def test_other_events_end_the_child(event):
    out = Memory()
    child = Supervised("7", out)
    assert not child.hear(encode(event))
    assert child.protocol_error and not out.lines
    assert child.hear(encode(GOOD[0])) and not out.lines, "what follows is not heard"


def test_numbers_out_of_range_do_not_reach_assay():
    out = Memory()
    assert Supervised("7", out).hear(b'{"ev":"point","index":0,"report":{"samples_ms":[1e999,2]}}\n')
    assert out.messages[0]["report"] == {"samples_ms": [None, 2]}


def test_the_log_is_bounded_and_keeps_head_and_tail():
    log = Log()
    for piece in (b"HEAD", b"\xff" * 300_000, b"x" * 70_000, b"TAIL"):
        log.add(piece)
    text = log.text()
    assert log.bytes == 370_008
    assert len(text.encode()) <= 64 << 10
    assert text.startswith("HEAD?") and text.endswith("xTAIL") and "bytes left out" in text


def test_a_short_log_is_whole():
    log = Log()
    log.add("Grüße\n".encode())
    assert log.text() == "Grüße\n"


def test_a_failure_names_its_phase_point_and_bases():
    out = Memory()
    emit = Emit(out)
    emit.index = 2
    try:
        with emit.in_phase("build"), emit.in_phase("read"):
            raise FileNotFoundError(2, "no weights")
    except OSError as error:
        emit.failure(error)
    (failure,) = out.messages
    assert failure["phase"] == "read" and failure["index"] == 2
    assert failure["type"] == "FileNotFoundError" and failure["bases"] == ["OSError", "Exception", "BaseException"]
    assert "no weights" in failure["message"] and "Traceback" in failure["traceback"]


def test_a_handled_exception_leaves_no_trace_on_the_next_one():
    out = Memory()
    emit = Emit(out)
    for name in ("build", "first"):
        try:
            with emit.in_phase(name):
                raise json.JSONDecodeError("bad", "doc", 0)
        except ValueError as error:
            last = error
    emit.failure(last)
    assert out.messages[0]["phase"] == "first"
    assert out.messages[0]["type"] == "json.decoder.JSONDecodeError"


def test_phases_are_timed_only_when_they_end_well():
    out = Memory()
    emit = Emit(out)
    with pytest.raises(KeyError), emit.in_phase("build"):
        raise KeyError
    with emit.in_phase("first"):
        pass
    (phase,) = out.messages
    assert phase["name"] == "first" and 0 <= phase["ms"] < 1000


def test_a_long_message_is_bounded():
    out = Memory()
    Emit(out).failure(RuntimeError("x" * (20 << 20)))
    assert len(out.lines[0]) < 256 << 10


def test_a_report_over_the_limit_is_the_child_s_own_error():
    out = Memory()
    with pytest.raises(ValueError, match="longer than"):
        Emit(out).data({"text": "x" * MAX_LINE})
    assert not out.lines


def test_a_message_survives_a_pipe_that_takes_little_at_a_time():
    read, write = os.pipe()
    if os.fork() == 0:
        os.close(read)
        Writer(write).send({"text": "y" * 1_000_000})
        os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as pipe:
        assert decode(pipe.read().rstrip())["text"] == "y" * 1_000_000
    os.wait()


def test_every_event_of_the_table_has_its_example():
    assert {decode_event(encode(event))["ev"] for event in GOOD} == {"phase", "timed", "point", "failure", "data"}

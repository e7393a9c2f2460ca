"""Models in pages, held models and shared parts: what needs no browser."""

from __future__ import annotations

import base64
import io
import json
import math
import os
import socket
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar

import numpy as np
import pytest
import torch
from PIL import Image

import assay
from assay import holding, pages, platforms, sharing


@pytest.fixture
def nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine on which the program is not installed."""
    monkeypatch.setenv("PATH", "")
    for name in (pages.SERVER, pages.PROGRAM, pages.TOKEN):
        monkeypatch.delenv(name, raising=False)


def test_without_the_program_there_is_no_page(nobody: None) -> None:
    with pytest.raises(assay.Unavailable, match="ASSAY_SERVER"):
        assay.load("bert", "webgpu", fallback=False)


class Server(BaseHTTPRequestHandler):
    """A server that opens pages."""

    seen: ClassVar[list[tuple[str, str, Any, str | None]]] = []
    held: ClassVar[threading.Event] = threading.Event()
    left: ClassVar[threading.Event] = threading.Event()

    def _answer(self, status: int, value: Any) -> None:
        body = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.seen.append(("POST", self.path, body, self.headers.get("Authorization")))
        if body["target"] == "webgpu":
            self._answer(409, {"detail": "no browser has WebGPU"})
        else:
            self._answer(201, {"id": "v1", "address": "http://127.0.0.1:1/visits/v1"})

    def do_GET(self) -> None:
        self.seen.append(("GET", self.path, None, self.headers.get("Authorization")))
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b": still here\n\n")
        self.wfile.flush()
        self.held.set()
        try:
            while self.connection.recv(1):
                pass
        except OSError:
            pass
        self.left.set()

    def do_DELETE(self) -> None:
        self.seen.append(("DELETE", self.path, None, self.headers.get("Authorization")))
        self._answer(200, {"id": "v1"})

    def log_message(self, *said: Any) -> None:
        """Says nothing."""


def test_pages_are_asked_for_and_given_back(monkeypatch: pytest.MonkeyPatch) -> None:
    Server.seen = []
    server = ThreadingHTTPServer(("127.0.0.1", 0), Server)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    monkeypatch.setenv(pages.SERVER, f"http://127.0.0.1:{server.server_port}/")
    monkeypatch.setenv(pages.TOKEN, "t")
    try:
        page = pages.opened(platforms.parse("webnn"), 0)
        assert page.address.endswith("/visits/v1")
        page.close()
        with pytest.raises(assay.Unavailable, match="no browser has WebGPU"):
            pages.opened(platforms.parse("webgpu"), 0)
    finally:
        server.shutdown()
        server.server_close()
    assert [(method, path) for method, path, _, _ in Server.seen[:3]] == [
        ("POST", "/v1/visits"),
        ("GET", "/v1/visits/v1/hold"),
        ("DELETE", "/v1/visits/v1"),
    ]
    assert {token for *_, token in Server.seen} == {"Bearer t"}


def test_a_process_that_is_killed_lets_go_of_its_page() -> None:
    for event in (Server.held, Server.left):
        event.clear()
    server = ThreadingHTTPServer(("127.0.0.1", 0), Server)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    code = "import sys; from assay import pages, platforms; pages.opened(platforms.parse('webnn'), 0); sys.stdin.read()"
    address, path = f"http://127.0.0.1:{server.server_port}", os.pathsep.join(sys.path)
    named = {**os.environ, pages.SERVER: address, "PYTHONPATH": path}
    child = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, env=named)
    try:
        assert Server.held.wait(60)
        assert not Server.left.is_set()
        child.kill()
        child.wait()
        assert Server.left.wait(10)
    finally:
        child.kill()
        server.shutdown()
        server.server_close()


def test_given_pages_are_used() -> None:
    target = platforms.Target(platforms.every()["webnn"], "", ("http://a", "http://b"))
    assert [pages.opened(target, i).address for i in (0, 1)] == ["http://a", "http://b"]


def picture() -> str:
    file = io.BytesIO()
    Image.new("RGB", (4, 3), (255, 0, 0)).save(file, "PNG")
    return base64.b64encode(file.getvalue()).decode()


def test_strings_are_no_paths() -> None:
    assert holding.natural("/etc/passwd", ("text",)) == "/etc/passwd"
    assert holding.natural(picture(), ("image",)).size == (4, 3)
    assert holding.natural({"image": picture(), "text": "a"}, ("text", "image"))["image"].size == (4, 3)
    for kind in ("image", "video", "audio"):
        for path in ("/etc/passwd", "../../etc/passwd", "file:///etc/passwd"):
            with pytest.raises(assay.BadInput, match=r"base64|no image|wav"):
                holding.natural({kind: path}, (kind,))
    with pytest.raises(assay.BadInput, match="no natural input"):
        holding.natural("x", ())


def test_outputs_are_json() -> None:
    given = {"a": np.array([[1.5, np.nan]]), "b": (np.float32(2), math.inf), "c": "text", "d": None}
    assert holding.plain(given) == {"a": [[1.5, None]], "b": [2.0, None], "c": "text", "d": None}


def test_a_held_model_answers_until_it_is_hung_up_on() -> None:
    listener = socket.create_server(("127.0.0.1", 0))
    address = f"127.0.0.1:{listener.getsockname()[1]}"
    ended: list[Any] = []

    class Emit:
        def data(self, value: Any) -> None:
            ended.append(value)

    job = {"options": {"address": address, "secret": "s"}}
    child = threading.Thread(target=holding.run, args=(job, Emit()))
    child.start()
    line, _ = listener.accept()
    assert holding._next(line) == {"secret": "s"}
    from assay import subjects

    subject = subjects.find("bert")
    cell = {"platform": "cpu", "engine": "torch", "dtype": "fp32", "weights": "random", "family": "encoder-only"}
    questions = [
        {"op": "load", "key": "k", "name": "bert", "recipe": dict(subject.recipe), "cell": cell},
        {"op": "run", "key": "k", "args": {"input": "some text"}},
        {"op": "run", "key": "k", "args": {"input": 3}},
        {"op": "run", "key": "missing", "args": {"input": "x"}},
        {"op": "release", "key": "k"},
    ]
    answers = []
    for question in questions:
        holding._send(line, question)
        answers.append(holding._next(line))
    line.close()
    child.join(30)
    listener.close()
    assert ended and not child.is_alive()
    with assay.load("bert", "cpu") as own:
        assert answers[1]["value"] == holding.plain(own.run("some text"))
        assert answers[0]["value"]["settings"]["class"] == own.settings()["class"]
    assert answers[2]["kind"] == "bad-input" and answers[3]["kind"] == "failed" and "error" not in answers[4]


class Piped(torch.nn.Module):
    """A module that has a pipeline, as those of diffusers are held here."""

    def __init__(self, **parts: torch.nn.Module) -> None:
        super().__init__()
        self.__dict__["pipeline"] = type("Pipeline", (), {"components": parts, **parts})()
        for name, part in parts.items():
            setattr(self, name, part)


def layer(seed: int) -> torch.nn.Module:
    torch.manual_seed(seed)
    return torch.nn.Linear(3, 3)


def test_equal_parts_are_held_once() -> None:
    shared = sharing.Shared()
    a, b = Piped(encoder=layer(0), network=layer(1)), Piped(encoder=layer(0), network=layer(2))
    engine = lambda model: type("Engine", (), {"model": model})()  # noqa: E731 - an engine with nothing else
    before = b.network(torch.ones(3))
    assert shared.adopted("a", engine(a)) == []
    assert shared.adopted("b", engine(b)) == ["encoder"]
    assert b.encoder is a.encoder and b.pipeline.encoder is a.encoder and b.network is not a.network
    assert torch.equal(b.network(torch.ones(3)), before)
    shared.returned("a")
    c = Piped(encoder=layer(0))
    assert shared.adopted("c", engine(c)) == ["encoder"], "b has it still"
    shared.returned("b")
    shared.returned("c")
    assert shared.adopted("d", engine(Piped(encoder=layer(0)))) == []
    assert shared.adopted("e", engine(torch.nn.Linear(2, 2))) == [], "every other model is a part of its own"

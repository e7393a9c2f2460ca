"""Pages of browsers, which the program opens: WebGPU and WebNN run there.

A page has an address at which this process calls it (`assay_runner.engines.web.page`). Where the program itself holds
the model it names the addresses. Otherwise a running `assay serve` is asked for one, that of ASSAY_SERVER or one that
is started here and ends with this process.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import shutil
import subprocess
import threading
import urllib.error
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from .errors import Unavailable
from .platforms import Target

SERVER, PROGRAM, TOKEN = "ASSAY_SERVER", "ASSAY_PROGRAM", "ASSAY_TOKEN"
_ASK_S = 300.0  # the program may have to start a browser, or to install what its pages load
_HELD_S = 120.0  # a server that is alive says so every fifteen seconds
_DIRECT = urllib.request.build_opener(urllib.request.ProxyHandler({}))  # a proxy is not for this machine


@dataclass(frozen=True)
class Page:
    """The permission to use a page."""

    address: str
    end: Callable[[], None] = lambda: None

    def close(self) -> None:
        """Gives the page back."""
        self.end()


def opened(target: Target, which: int) -> Page:
    """A page for a target: of those that were given the one that is meant, or one that is asked for."""
    if target.pages:
        return Page(target.pages[which])
    server = _server()
    told = _ask(server, "POST", "/v1/visits", {"target": str(target)})
    _hold(server, told["id"])
    return Page(told["address"], lambda: _left(server, told["id"]))


def _hold(server: str, visit: str) -> None:
    """Keeps a connection open as long as this process lives: the server closes the page when that ends."""
    with contextlib.suppress(OSError):  # a server that does not know it keeps pages until they are given back
        answer = _DIRECT.open(_request(server, "GET", f"/v1/visits/{visit}/hold"), timeout=_HELD_S)
        threading.Thread(target=_heard, args=(answer,), name="assay-page", daemon=True).start()


def _heard(answer: Any) -> None:
    """Reads what a server says to show that it lives, to the end."""
    with contextlib.suppress(OSError, ValueError), answer:
        while answer.read1():
            pass


def _left(server: str, visit: str) -> None:
    with contextlib.suppress(Unavailable):  # a server that is gone has closed its pages
        _ask(server, "DELETE", f"/v1/visits/{visit}")


_lock = threading.Lock()
_started: dict[str, str] = {}  # the program that was started here → its address


def _server() -> str:
    """The address of a server, started here where none is named."""
    if named := os.environ.get(SERVER):
        return named.rstrip("/")
    program = os.environ.get(PROGRAM) or shutil.which("assay")
    if not program:
        raise Unavailable(
            "WebGPU and WebNN run in a browser's page, which the assay program opens: put it on PATH, "
            f"name it in {PROGRAM}, or name a running assay serve in {SERVER}"
        )
    with _lock:
        if program not in _started:
            _started[program] = _start(program)
        return _started[program]


def _start(program: str) -> str:
    command = [program, "serve", "--json", "--until-input-ends"]  # which ends with this process, even if that is killed
    made = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    atexit.register(made.terminate)
    assert made.stdout is not None
    text, decoder = "", json.JSONDecoder()
    for line in made.stdout:
        text += line
        try:
            return decoder.raw_decode(text)[0]["dashboard"].rstrip("/")
        except json.JSONDecodeError:
            continue
    raise Unavailable(f"{program} serve ended without an address: run it to see why")


def _ask(server: str, method: str, path: str, body: Any = None) -> Any:
    try:
        with _DIRECT.open(_request(server, method, path, body), timeout=_ASK_S) as answer:
            return json.loads(answer.read())
    except urllib.error.HTTPError as error:
        told = json.loads(error.read() or b"{}")
        raise Unavailable(told.get("detail") or f"the assay program answered {error.code}") from None
    except (OSError, ValueError) as error:
        raise Unavailable(f"the assay program at {server} does not answer: {error}") from error


def _request(server: str, method: str, path: str, body: Any = None) -> urllib.request.Request:
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(server + path, data=data, method=method)
    if data is not None:
        request.add_header("Content-Type", "application/json")
    if token := os.environ.get(TOKEN):
        request.add_header("Authorization", f"Bearer {token}")
    return request

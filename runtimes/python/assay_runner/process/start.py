"""Starting the runner: `python -m assay_runner zygote [--bare] [--spawn]`."""

from __future__ import annotations

import argparse
import importlib
import os
import platform
import sys
from collections.abc import Callable
from typing import Any

from assay_runner import PROTOCOL

from . import child, kept_out, libraries, linux, private
from .protocol import ProtocolError, Writer, take_stdin, take_stdout


def main(argv: list[str]) -> None:
    """Become the runner. Ends the process with status 0, or 2 if Assay broke the protocol."""
    stdout = take_stdout()
    options = _parser().parse_args(argv)
    stdin = take_stdin()
    for fd in (stdin, stdout):
        os.set_inheritable(fd, False)
        if os.name == "posix":
            os.set_blocking(fd, True)
    libraries.quieten()
    linux.raise_file_limit()
    if linux.IS_LINUX:
        from . import keeper

        keeper.keep(stdin, stdout)
    status = 0
    try:
        _serve(stdin, Writer(stdout), bare=options.bare, spawn=options.spawn or not linux.IS_LINUX)
    except ProtocolError as error:
        print(f"assay_runner: what Assay sent is not a message: {error}", file=sys.stderr)
        status = 2
    except BrokenPipeError:
        pass
    sys.stderr.flush()
    os._exit(status)  # libraries' exit handlers have nothing to do here, and some take seconds


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="assay_runner zygote")
    parser.add_argument("--bare", action="store_true", help="import nothing but the standard library")
    parser.add_argument("--spawn", action="store_true", help="a fresh interpreter for each job instead of a fork")
    return parser


def _serve(stdin: int, out: Writer, *, bare: bool, spawn: bool) -> None:
    versions, missing = {"python": platform.python_version()}, {}
    notes = []
    if not bare and not spawn:
        kept_out.hide()
        with kept_out.watched() as blamed:
            versions, missing = libraries.import_all()
        if linux.tasks() != 1:
            notes.append(kept_out.reason(blamed))
            spawn = True
    elif not bare:
        versions, missing = _look()
    linux.inherit_orphans()
    runner = _spawner(stdin, out, bare) if spawn else _forker(stdin, out, bare)
    out.send(
        {
            "ev": "hello",
            "protocol": PROTOCOL,
            "runner": "python",
            "pid": os.getpid(),
            "versions": versions,
            "start": "spawn" if spawn else "fork",
            "missing": missing,
            "private": {} if bare else private.missing(),
            "notes": notes,
        }
    )
    runner()


def _look() -> tuple[dict[str, str], dict[str, str]]:
    """What a spawning runner knows of the libraries: it leaves importing them to the children."""
    versions = libraries.installed()
    return versions, {name: "not installed" for name in (*libraries.IMPORTED, "timm") if name not in versions}


def _spawner(stdin: int, out: Writer, _bare: bool) -> Callable[[], None]:
    from .spawn import Spawner

    return Spawner(stdin, out).serve


def _forker(stdin: int, out: Writer, bare: bool) -> Callable[[], None]:
    from .zygote import Zygote

    child.jobs()  # so that each child has it already
    libraries.settle()
    return Zygote(stdin, out, None if bare else _preload).serve


def _preload(job: dict[str, Any]) -> None:
    importlib.import_module("assay_runner.engines.preimporting").before_fork(job)

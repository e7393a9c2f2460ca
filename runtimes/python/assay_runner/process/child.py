"""The child's side: what runs a job, and what a child does first and last."""

from __future__ import annotations

import contextlib
import faulthandler
import gc
import importlib
import os
import signal
import sys
import threading
from collections.abc import Callable
from typing import Any

from . import kept_out, linux, threads, turns
from .emit import Emit
from .protocol import Writer, decode, take_stdin, take_stdout

_KILL = 9  # which Windows has no name for
_DEFAULTS_RESTORED = ("SIGCHLD", "SIGINT", "SIGTERM")


def execute(job: dict[str, Any], emit: Emit) -> int:
    """Carry the job out; the child's exit status. What escapes is reported as a failure."""
    try:
        _find(jobs().function_for(job), emit)(job, emit)
    except SystemExit as error:
        return error.code if isinstance(error.code, int) else int(error.code is not None)
    except BaseException as error:
        emit.failure(_named(error))
        return 1
    return 0


def jobs() -> Any:
    """The table of who runs jobs. By name: what it names lies above this folder."""
    return importlib.import_module("assay_runner.jobs")


def _named(error: BaseException) -> BaseException:
    """The error under the name that says whose it is. Bare runners import nothing for that."""
    if isinstance(error, ImportError | AttributeError | NameError | TypeError):
        with contextlib.suppress(Exception):
            return importlib.import_module(f"{__package__}.blame").named(error)
    return error


def _find(path: str, emit: Emit) -> Callable[[dict[str, Any], Emit], None]:
    """The function, its module imported now if the zygote did not do so: engines may start threads at import."""
    module, _, name = path.rpartition(".")
    module = module if module.startswith("assay.") else f"assay_runner.{module}"
    with contextlib.nullcontext() if module in sys.modules else emit.in_phase("import"):
        return getattr(importlib.import_module(module), name)


def after_fork(
    job: dict[str, Any], zygote: int, protocol: int, output: int, others: list[int], more: int | None = None
) -> None:
    """All of a forked child's life. `others` are the zygote's descriptors, which are none of its business; through
    `more` come further jobs."""
    os.setpgid(0, 0)
    linux.die_with_parent(zygote, _KILL)
    _reset_signals()
    for fd in others:
        os.close(fd)
    os.dup2(output, 1)
    os.dup2(output, 2)
    os.close(output)
    gc.enable()
    _live(job, protocol, more)


def after_spawn(argv: list[str]) -> None:
    """All of a spawned child's life: `child PARENT`. Its job is the first line of its standard input."""
    linux.die_with_parent(int(argv[0]), _KILL)
    protocol = take_stdout()
    stdin = os.fdopen(take_stdin(), "rb")
    job = decode(stdin.readline())
    kept_out.hide()
    # Where the kernel does not tell of the parent's death, the end of the input does.
    threading.Thread(target=_die_with_input, args=(stdin,), daemon=True).start()
    _live(job, protocol)


def _die_with_input(stdin: Any) -> None:
    stdin.read()
    if hasattr(os, "killpg") and os.getpgid(0) == os.getpid():
        os.killpg(0, _KILL)
    os._exit(1)


def _live(job: dict[str, Any], protocol: int, more: int | None = None) -> None:
    os.environ.update(job.get("env") or {})  # before anything is computed: libraries read them once
    linux.prefer_as_victim()
    linux.no_core_dump()
    # A crash then leaves the Python stack in the log.
    faulthandler.enable(file=2, all_threads=True)
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(AttributeError):  # a library may have put something else in its place
            stream.reconfigure(line_buffering=True)
    status = 1
    try:
        if more is None:
            status = _carry_out(job, protocol)
        else:
            threads.bound(job)  # before the first look at what a job could leave behind
            status = turns.live(job, more, protocol, lambda job: _carry_out(job, protocol))
    finally:
        with contextlib.suppress(Exception):
            sys.stdout.flush()
            sys.stderr.flush()
        # No finaliser, no exit handler, no destructor of a library: they belong to the parent or cost time.
        os._exit(status & 0xFF)


def _carry_out(job: dict[str, Any], protocol: int) -> int:
    emit = Emit(Writer(protocol))
    try:
        threads.bound(job)
        linux.reset_peak()
        return execute(job, emit)
    except BaseException as error:
        emit.failure(error)
        return 1


def _reset_signals() -> None:
    signal.set_wakeup_fd(-1)
    for name in _DEFAULTS_RESTORED:
        signal.signal(getattr(signal, name), signal.SIG_DFL)

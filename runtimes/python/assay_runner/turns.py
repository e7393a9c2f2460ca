"""A child that carries several jobs out in turn, so that a device's context is made once for all of them.

A functional check needs no fresh context, and making one takes a quarter of a second alone and more than a second with
fourteen at once. What isolation is for stays: a job that raises, or leaves behind what the next one could see, is its
child's last; a crash costs the job under way and no other; and what does not work in company Assay has done again in a
child of its own. A timed job is never among them.
"""

from __future__ import annotations

import contextlib
import gc
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from . import linux
from .protocol import Lines, ProtocolError, Writer, decode

if os.name == "posix":
    import resource

MOST = 100
"""After so many jobs a child ends: what piles up unseen (imported modules, fragments of memory) stays bounded."""

PATCHED = ("torch", "torch.nn.functional", "torch.Tensor", "torch.nn.Module", "transformers.modeling_utils")
"""Where a model's code that replaces somebody's functions would be noticed."""

before = 0
"""How many jobs this process has carried out before the one under way."""

_PIECE = 1 << 16

Usage = dict[str, float]


class Functions(dict[str, int]):
    """Which function each name means."""


def jobs(first: dict[str, Any], source: int) -> Iterator[dict[str, Any]]:
    """The first job, then those that come through the pipe until it ends."""
    yield first
    lines = Lines()
    while piece := os.read(source, _PIECE):
        for line in lines.feed(piece):
            yield decode(line)


def live(first: dict[str, Any], source: int, protocol: int, execute: Callable[[dict[str, Any]], int]) -> int:
    """Carry jobs out until one leaves something behind; the status of the last one, which is the child's own."""
    global before
    writer, status = Writer(protocol), 0
    with contextlib.suppress(ProtocolError):
        for job in jobs(first, source):
            was, spent = state(), usage()
            status = execute(job)
            before += 1
            if status != 0 or before >= MOST or differences(was, state(tidy=True)):
                return status
            _flush()
            writer.send({"ev": "done", "usage": _since(spent)})
    return status


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(Exception):
            stream.flush()


def differences(was: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """What a job left behind, by name."""
    return [name for name in was if _other(was[name], now.get(name))]


def _other(was: Any, now: Any) -> bool:
    """Whether a value changed. Of functions only those count that were there: libraries add some on first use."""
    if isinstance(was, Functions):
        return any(now.get(name) != which for name, which in was.items())
    return was != now


def state(tidy: bool = False) -> dict[str, Any]:
    """All that a job could leave behind and the next one could see. Tidying gives back what is only kept for later."""
    if tidy:
        gc.collect()
    return {
        "folder": Path.cwd(),
        "environment": dict(os.environ),
        "processes": linux.children(),
        "signals": _handlers(),
        **_torch(tidy),
        **{f"functions of {name}": functions for name, functions in _functions().items()},
    }


def _handlers() -> list[Any]:
    import signal

    return [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGALRM, signal.SIGCHLD)]


def _torch(tidy: bool) -> dict[str, Any]:
    torch = sys.modules.get("torch")
    if not hasattr(torch, "get_default_dtype"):
        return {}
    found = {
        "default dtype": torch.get_default_dtype(),
        "default device": str(torch.get_default_device()),
        "gradients": torch.is_grad_enabled(),
        "inference mode": torch.is_inference_mode_enabled(),
        "deterministic": torch.are_deterministic_algorithms_enabled(),
        "modes": torch._C._len_torch_dispatch_stack() + torch._C._len_torch_function_stack(),
        "attention": _attention(torch),
    }
    return found | _devices(torch, tidy)


def _attention(torch: Any) -> list[bool]:
    chosen = torch.backends.cuda
    return [chosen.flash_sdp_enabled(), chosen.mem_efficient_sdp_enabled(), chosen.math_sdp_enabled()]


def _devices(torch: Any, tidy: bool) -> dict[str, Any]:
    """What the models of this process hold on its devices."""
    held = {"device memory": 0, "cudnn": (torch.backends.cudnn.benchmark, torch.backends.cudnn.enabled)}
    if not torch.cuda.is_initialized():
        return held
    if tidy:
        torch.cuda.synchronize()
        with contextlib.suppress(AttributeError):
            torch._C._cuda_clearCublasWorkspaces()  # the library's own, which count as allocated
        torch.cuda.empty_cache()
    return held | {"device memory": torch.cuda.memory_allocated()}


def _functions() -> dict[str, Functions]:
    """The functions that models call, by name: which they are."""
    found = {}
    for path in PATCHED:
        module, _, name = path.rpartition(".")
        place = sys.modules.get(path) or getattr(sys.modules.get(module), name, None)
        if place is not None:
            found[path] = Functions((key, id(value)) for key, value in vars(place).items() if callable(value))
    return found


def usage() -> Usage | None:
    """What this process has used so far."""
    if os.name != "posix":
        return None
    used = resource.getrusage(resource.RUSAGE_SELF)
    return {"user_s": used.ru_utime, "system_s": used.ru_stime, "max_rss_bytes": used.ru_maxrss * 1024}


def _since(then: Usage | None) -> Usage | None:
    now = usage()
    if then is None or now is None:
        return None
    return {**now, "user_s": now["user_s"] - then["user_s"], "system_s": now["system_s"] - then["system_s"]}

"""A child that runs several jobs in turn, so that a device's context is made once for all of them.

A functional check needs no fresh context, and making one takes a quarter of a second alone and more than a second with
fourteen at once. What isolation is for stays: a job that raises, or leaves behind what the next one could see, is its
child's last; a crash costs the job under way and no other; and what does not work in company Assay has done again in a
child of its own. A timed job is never among them.
"""

from __future__ import annotations

import contextlib
import gc
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from . import linux
from .protocol import Lines, ProtocolError, Writer, decode

if os.name == "posix":
    import resource

MOST = 100
"""After this many jobs a child ends: what piles up unseen (imported modules, fragments of memory) stays bounded."""

PATCHED = (
    "builtins", "torch", "torch.nn.functional", "torch.Tensor", "torch.nn.Module", "transformers.modeling_utils",
    "transformers.modeling_utils.PreTrainedModel", "transformers.masking_utils",
    "transformers.integrations.sdpa_attention",
)  # fmt: skip
"""Where a model's code that replaces somebody's functions would be noticed, beside the layers of torch.nn."""

HOOKS = ("_global_forward_pre_hooks", "_global_forward_hooks", "_global_buffer_registration_hooks",
         "_global_module_registration_hooks", "_global_parameter_registration_hooks")  # fmt: skip
"""Of torch.nn.modules.module: what is called for every layer of every model."""

before = 0
"""How many jobs this process has carried out before the one under way."""

_PIECE = 1 << 16

Usage = dict[str, float]


class Functions(dict[str, Any]):
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
        return now is None or any(now.get(name) is not which for name, which in was.items())
    return was != now


def state(tidy: bool = False) -> dict[str, Any]:
    """What a job is known to leave behind at times, and the next one could see. Tidying gives back what is only kept
    for later. What is not seen here can still not make a model fail: what does not work is done again alone."""
    if tidy:
        gc.collect()
    return {
        "folder": _folder(),
        "output": [_file(fd) for fd in (1, 2)],
        "environment": dict(os.environ),
        "path": list(sys.path),
        "processes": linux.children(),
        "threads": sorted(thread.name for thread in threading.enumerate()),
        "signals": [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGALRM)],
        "collector": gc.isenabled(),
        **_torch(tidy),
        **{f"functions of {name}": functions for name, functions in _functions().items()},
    }


def _folder() -> Path | None:
    try:
        return Path.cwd()
    except FileNotFoundError:
        return None


def _file(fd: int) -> tuple[int, int] | None:
    try:
        found = os.fstat(fd)
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _torch(tidy: bool) -> dict[str, Any]:
    torch = sys.modules.get("torch")
    if not hasattr(torch, "get_default_dtype"):
        return {}
    layers = torch.nn.modules.module
    found = {
        "default dtype": torch.get_default_dtype(),
        "default device": str(torch.get_default_device()),
        "gradients": torch.is_grad_enabled(),
        "inference mode": torch.is_inference_mode_enabled(),
        "autocast": [torch.is_autocast_enabled("cpu"), torch.is_autocast_enabled("cuda")],
        "deterministic": torch.are_deterministic_algorithms_enabled(),
        "modes": torch._C._len_torch_dispatch_stack() + torch._C._len_torch_function_stack(),
        "hooks": [len(getattr(layers, name, ())) for name in HOOKS],
        "attention": _attention(torch),
        "layers": Functions(
            (name, vars(kind).get("forward")) for name, kind in vars(torch.nn).items() if isinstance(kind, type)
        ),
    }
    return found | _devices(torch, tidy)


def _attention(torch: Any) -> list[Any]:
    chosen = torch.backends.cuda
    flags = [chosen.flash_sdp_enabled(), chosen.mem_efficient_sdp_enabled(), chosen.math_sdp_enabled()]
    table = getattr(sys.modules.get("transformers.modeling_utils"), "ALL_ATTENTION_FUNCTIONS", {})
    return [*flags, *(f"{name}: {id(table[name])}" for name in sorted(table) if name in ("eager", "sdpa"))]


def _devices(torch: Any, tidy: bool) -> dict[str, Any]:
    """What the models of this process hold on its devices, and how those are set."""
    cudnn, products = torch.backends.cudnn, torch.backends.cuda.matmul
    held = {
        "device memory": 0,
        "backends": [cudnn.benchmark, cudnn.enabled, cudnn.deterministic, torch.backends.mkldnn.enabled],
        "reductions": [
            products.allow_fp16_reduced_precision_reduction,
            products.allow_bf16_reduced_precision_reduction,
        ],
    }
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
            found[path] = Functions((key, value) for key, value in vars(place).items() if callable(value))
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

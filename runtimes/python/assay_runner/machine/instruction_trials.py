"""Small products in the dtypes for which processors have instructions of their own, each in a child that may die.

The sizes are those from which oneDNN takes its blocked kernels, which are the ones that use AMX.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from assay_runner.process import libraries, linux
from assay_runner.process.protocol import take_stdout

from . import instructions

ROWS, INNER, COLUMNS = 128, 256, 192
IMPORT_S, LIMIT_S, ALL_S = 60.0, 20.0, 90.0
"""The longest that a library's import, a product after it, and all together may take. Who asks waits longer."""

_FAILED, _ABSENT = 1, 3
_NO_DEATHS = frozenset({"SIGKILL", "SIGTERM", "SIGINT", "SIGHUP"})
"""What others send: a child that ends so has not shown anything."""

Trial = Callable[[], None]


def _torch_bf16() -> None:
    import torch

    torch.set_num_threads(1)
    with torch.no_grad():
        a, b = torch.ones(ROWS, INNER, dtype=torch.bfloat16), torch.ones(COLUMNS, INNER, dtype=torch.bfloat16)
        torch.nn.functional.linear(a, b)
        torch.nn.functional.conv2d(a.reshape(1, 32, 32, 32), b.reshape(-1, 32, 1, 1)[:64])
        heads = a.reshape(1, 2, ROWS, INNER // 2)
        torch.nn.functional.scaled_dot_product_attention(heads, heads, heads)


def _torch_int8() -> None:
    import torch

    torch.set_num_threads(1)
    with torch.no_grad():
        a, b = torch.ones(ROWS, INNER, dtype=torch.int8), torch.ones(INNER, COLUMNS, dtype=torch.int8)
        torch._int_mm(a, b)


def _openvino(precision: str, quantised: bool) -> None:
    import numpy as np
    import openvino as ov
    from openvino import opset13 as op

    given = op.parameter([ROWS, INNER], np.float32)
    weights: Any = op.constant(np.ones((COLUMNS, INNER), np.float32))
    left: Any = given
    if quantised:
        ends = [op.constant(np.float32(v)) for v in (0.0, 2.55, 0.0, 2.55)]
        left = op.fake_quantize(given, *ends, levels=256)
        whole = op.convert(op.constant(np.ones((COLUMNS, INNER), np.int8)), "f32")
        weights = op.multiply(whole, op.constant(np.float32(0.01)))
    product = op.matmul(left, weights, False, True)
    model = ov.Model([op.relu(product)], [given])
    settings = {"INFERENCE_PRECISION_HINT": precision, "INFERENCE_NUM_THREADS": 1, "NUM_STREAMS": 1}
    ov.Core().compile_model(model, "CPU", settings)(np.ones((ROWS, INNER), np.float32))


TRIALS: Mapping[tuple[str, str], Trial] = {
    ("torch", "bf16"): _torch_bf16,
    ("torch", "int8"): _torch_int8,
    ("openvino", "bf16"): lambda: _openvino("bf16", False),
    ("openvino", "int8"): lambda: _openvino("f32", True),
}
"""Engine and dtype → the product."""

Run = Callable[[tuple[str, str], str], "int | str"]


def ask(levels: Sequence[str], run: Run | None = None) -> dict[str, Any]:
    """Try every product without the variable, then those that died at ever lower levels until all live. One that died
    and then gave no answer has not shown that it lives: it stays."""
    run = _in_time(run or _runner())
    died: list[dict[str, Any]] = []
    skipped: dict[str, str] = {}
    left = list(TRIALS)
    for level in ("", *levels):
        outcomes = [(trial, run(trial, level)) for trial in left]
        skipped |= {" ".join(trial): why for trial, why in outcomes if isinstance(why, str) and why}
        left = [trial for trial, outcome in outcomes if outcome and (level or isinstance(outcome, int))]
        died += [
            {"engine": engine, "dtype": dtype, "level": level, "signal": number}
            for (engine, dtype), number in outcomes
            if isinstance(number, int) and number > 0
        ]
        if not left:
            return {"lowered": level, "died": died, "skipped": skipped}
    return {"lowered": "", "died": died, "skipped": skipped}  # no level helps


def _in_time(run: Run) -> Run:
    """Leave out what there is no time for: half an answer is better than none."""
    end = time.monotonic() + ALL_S
    return lambda trial, level: run(trial, level) if time.monotonic() < end else "no time was left for it"


def main(argv: list[str]) -> None:
    """`instructions LEVEL…` asks; `instructions trial ENGINE DTYPE` is one of its children where nothing can fork.
    `--parent PID` before that names the process with which this one is to die."""
    if argv[:1] == ["--parent"]:
        linux.die_with_parent(int(argv[1]), signal.SIGKILL)
        argv = argv[2:]
    if argv[:1] == ["trial"]:
        _carry_out((argv[1], argv[2]))
    unknown = set(argv) - {name for name, _ in instructions.LEVELS}
    if unknown:
        raise SystemExit(f"unknown levels {', '.join(sorted(unknown))}")
    answer_to = take_stdout()
    data = json.dumps(ask(argv)).encode() + b"\n"
    os.write(answer_to, data)
    os._exit(0)  # libraries' exit handlers have nothing to do here


def _runner() -> Run:
    """Fork where that is safe, after the slow import; else start a fresh interpreter each time."""
    if not linux.IS_LINUX:
        return _spawned
    libraries.quieten()  # numpy's threads would forbid the fork
    with contextlib.suppress(Exception):  # absent or broken: the trial itself says so
        importlib.import_module("torch")
    return _forked if linux.tasks() == 1 else _spawned


def _forked(trial: tuple[str, str], level: str) -> int | str:
    asker = os.getpid()
    imported, told = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            linux.die_with_parent(asker, signal.SIGKILL)
            _set(os.environ, level)
            _carry_out(trial, told)
        finally:
            os._exit(_FAILED)
    os.close(told)
    try:
        select.select([imported], [], [], IMPORT_S)  # also when it dies
        return _judged(*_awaited(pid))
    finally:
        os.close(imported)


def _awaited(pid: int) -> tuple[int, int]:
    """Status and signal of a child; one that takes too long is killed."""
    end = time.monotonic() + LIMIT_S
    while time.monotonic() < end:
        ended, status = os.waitpid(pid, os.WNOHANG)
        if ended:
            return (0, os.WTERMSIG(status)) if os.WIFSIGNALED(status) else (os.WEXITSTATUS(status), 0)
        time.sleep(0.005)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    return 0, int(signal.SIGKILL)


def _spawned(trial: tuple[str, str], level: str) -> int | str:
    environ = dict(os.environ)
    _set(environ, level)
    command = [sys.executable, "-m", "assay_runner", "instructions", "--parent", str(os.getpid()), "trial", *trial]
    limit = IMPORT_S + LIMIT_S
    try:
        code = subprocess.run(command, env=environ, stdin=subprocess.DEVNULL, timeout=limit, check=False).returncode
    except subprocess.TimeoutExpired:
        return "it took too long"
    return _judged(max(code, 0), max(-code, 0))


def _set(environ: Any, level: str) -> None:
    if level:
        environ[instructions.VARIABLE] = level
    else:
        environ.pop(instructions.VARIABLE, None)


def _judged(status: int, number: int) -> int | str:
    """The signal by which a child died of its own doing, 0 where it lived, or why nothing was shown."""
    if number and signal.Signals(number).name in _NO_DEATHS:
        return "it took too long, or something ended it"
    return number or {0: "", _ABSENT: instructions.ABSENT}.get(status, "raised an exception")


def _import(engine: str) -> None:
    importlib.import_module(engine)


def _carry_out(trial: tuple[str, str], told: int | None = None) -> None:
    """Multiply and end: by itself, or by the processor's word. Who waits is told when the slow import is done."""
    linux.no_core_dump()
    try:
        _import(trial[0])
        if told is not None:
            os.write(told, b".")
        TRIALS[trial]()
    except ImportError:
        os._exit(_ABSENT)
    except BaseException as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        sys.stderr.flush()
        os._exit(_FAILED)
    os._exit(0)

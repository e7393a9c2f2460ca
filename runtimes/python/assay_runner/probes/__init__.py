"""Probes that confirm what an engine can really use, each in its own child.

`python -m assay_runner probe NAME` prints one JSON object and ends. A probe never raises: a library that is not there
gives `{"absent": reason}`, one that fails `{"error": reason}`. Nothing is imported before the probe is known, so that
importing this package stays cheap, and what libraries print goes to standard error.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
import threading
from typing import Any

PROBES: dict[str, str] = {
    "nvml": "probes.nvml_probe",
    "torch": "probes.torch_probe",
    "openvino": "probes.openvino_probe",
    "onnxruntime": "probes.onnxruntime_probe",
}
"""Probe → module of this package, whose `answer` it is."""

LONGEST_REASON = 500


def main(argument: str | list[str]) -> int:
    """Run one probe, print its answer on what was standard output, and end; takes command-line arguments too."""
    name = argument if isinstance(argument, str) else " ".join(argument)
    answer_to = _private_stdout()
    _end_with_parent()
    data = json.dumps(ask(name), allow_nan=False).encode()
    with os.fdopen(answer_to, "wb") as out:
        out.write(data + b"\n")
        out.flush()
        # Some libraries crash while they unload; the answer is out, so no more of them needs to run.
        os._exit(0 if name in PROBES else 2)


def answer(job: dict[str, Any], emit: Any) -> None:
    """Answer a `probe` job: the probe in a child of the runner, which has torch imported already."""
    emit.data(ask(str(job.get("options", {}).get("name"))))


def ask(name: str) -> dict[str, Any]:
    """Return a probe's answer, or an object that says why there is none."""
    module = PROBES.get(name)
    if module is None:
        return {"error": f"unknown probe {name!r}: the probes are {', '.join(PROBES)}"}
    try:
        return importlib.import_module(f"assay_runner.{module}").answer()
    except ImportError as problem:
        return {"absent": reason(problem)}
    except Exception as problem:
        return {"error": reason(problem)}


def reason(problem: BaseException) -> str:
    """Return an exception's type and first line, bounded."""
    lines = str(problem).strip().splitlines()
    text = f"{type(problem).__name__}: {lines[0]}" if lines else type(problem).__name__
    return text[:LONGEST_REASON]


def _private_stdout() -> int:
    """Keep a copy of descriptor 1 and point 1 at 2, so that no library's chatter reaches the answer."""
    sys.stdout.flush()
    private = os.dup(1)
    os.dup2(2, 1)
    return private


def _end_with_parent() -> None:
    """End when standard input does: it is a pipe whose other end the parent holds until it is gone."""
    if os.environ.get("ASSAY_WATCH_STDIN") != "1":
        return

    def watch() -> None:
        while os.read(0, 4096):
            pass
        os._exit(3)

    threading.Thread(target=watch, daemon=True).start()

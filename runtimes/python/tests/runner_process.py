"""A runner under test: the process, what it says, and whether its children are gone."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import time
from pathlib import Path

SOURCES = Path(__file__).resolve().parents[1]


class Runner:
    """A runner under test, and the libraries that it finds."""

    def __init__(
        self, *arguments: str, libraries: Path | None = None, cwd: Path | None = None, files: tuple | None = None
    ) -> None:
        path = os.pathsep.join(str(p) for p in (SOURCES, libraries) if p)
        environment = {**os.environ, "PYTHONPATH": path, "PYTHONSAFEPATH": "1", "PYTHONDONTWRITEBYTECODE": "1"}
        # -S hides the installed libraries, so that only the test's own are there.
        command = [sys.executable, "-S", "-m", "assay_runner", "zygote", *arguments]
        self.process = subprocess.Popen(
            command,
            env=environment,
            cwd=cwd,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            preexec_fn=files and (lambda: resource.setrlimit(resource.RLIMIT_NOFILE, files)),
        )

    def __enter__(self) -> Runner:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.stdin.close()
        self.process.wait(timeout=5)
        self.process.stdout.close()
        self.process.stderr.close()

    def send(self, message: dict) -> None:
        self.process.stdin.write(json.dumps(message).encode() + b"\n")
        self.process.stdin.flush()

    def next(self) -> dict:
        return json.loads(self.process.stdout.readline())

    def run(self, job: dict, job_id: str = "1") -> list[dict]:
        self.send({"op": "run", "id": job_id, "job": job})
        events = [self.next()]
        while events[-1]["ev"] != "exit":
            events.append(self.next())
        return events


def noop(task: str = "nothing", **more: object) -> dict:
    return {"kind": "noop", "cell": {"type": "noop", "engine": "noop", "task": task}, **more}


def library(folder: Path, name: str, text: str) -> Path:
    (folder / f"{name}.py").write_text(text)
    return folder


def gone(pid: int, within: float = 1.0) -> bool:
    """Whether the process ends in time. An orphan that only waits for init to reap it has ended."""
    end = time.monotonic() + within
    while time.monotonic() < end:
        try:
            state, parent = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[:2]
        except (FileNotFoundError, ProcessLookupError):
            return True
        if (state, parent) == ("Z", "1"):
            return True
        time.sleep(0.01)
    return False

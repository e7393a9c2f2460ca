"""The command `rank`: one of the processes that share a model's work, beside the job's own.

Usage: python -m assay_runner rank JOB.json [MEETING]

Assay starts it with a file to meet by. Under torchrun there is none: rank, size and meeting are in the environment, and
rank 0 prints its report as a line of JSON:

    torchrun --nnodes 2 --nproc-per-node 1 --rdzv-endpoint HOST:29500 -m assay_runner rank JOB.json
"""

from __future__ import annotations

import json
import os
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from assay_runner.engines.torch import ranks, sharing
from assay_runner.errors import RunnerError


class Quiet:
    """A reporter of a rank that does not report; rank 0 of torchrun prints what it is told."""

    def __init__(self, prints: bool = False) -> None:
        self.index: int | None = None
        self._prints = prints

    @contextmanager
    def in_phase(self, name: str) -> Iterator[None]:
        """Nothing is timed."""
        yield

    def timed(self, state: str) -> None:
        """Nobody is told."""

    def point(self, index: int, report: dict[str, Any]) -> None:
        """A finished point."""
        if self._prints:
            print(json.dumps({"index": index, "report": report}, allow_nan=False), flush=True)


def main(argv: list[str]) -> int | str:
    """Takes part in one job."""
    if len(argv) not in (1, 2):
        return "usage: python -m assay_runner rank JOB.json [MEETING]"
    job = json.loads(Path(argv[0]).read_text())
    rank, size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    job["cell"]["procs"] = size
    group = ranks.of(job, rank, size, int(os.environ.get("LOCAL_RANK") or 0))
    ranks.join(group, argv[1] if len(argv) == 2 else "env://")
    try:
        sharing.work(job, Quiet(prints=rank == 0), group)
        group.meet()
    except RunnerError:
        traceback.print_exc(file=sys.stderr)
        return ranks.RAISED
    finally:
        ranks.leave(group)
    return 0

"""How many threads a child computes with: never more than its share of the machine.

Libraries start one thread per core. With a child per core that is the square of the cores, and what should
take a minute takes half an hour. So every child is bounded before it computes, whatever its job is: by what the job
says, or to one thread. Only a timed job, which has the machine to itself, may leave the choice to its engine.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from typing import Any

VARIABLES = (
    "OMP_NUM_THREADS",
    "MKL_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "NUMEXPR_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
    "RAYON_NUM_THREADS",
)
"""What libraries read when they are loaded: those that a child loads itself hold to them."""


def share(job: Mapping[str, Any]) -> int:
    """The threads of a job's child; 0 leaves them to its engine."""
    asked = int(job.get("threads") or 0)
    return asked or int(job.get("kind") != "time")


def bound(job: Mapping[str, Any]) -> None:
    """Hold this process to the job's share, and to the processors that it names: before anything is computed."""
    if job.get("pin"):
        os.sched_setaffinity(0, job["pin"])  # threads to come inherit it
    count = share(job)
    if not count:
        return
    for name in VARIABLES:
        os.environ[name] = str(count)
    # What is loaded already has read them: a forked child has torch from its parent.
    torch = sys.modules.get("torch")
    if torch is not None and hasattr(torch, "set_num_threads"):
        torch.set_num_threads(count)

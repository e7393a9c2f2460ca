"""Processes that share a model's work by torch's own distributed package: ranks.

The job's child is rank 0. It starts the others, fresh processes that read the same job from a file, build the same
model with the same bits and do the same work; only rank 0 reports. Under torchrun, on one host or on several, every
process is started by that and reads its rank from the environment. Whoever waits for a rank waits for a limited time:
one that ended or hangs ends the work of all, as LostRank.
"""

from __future__ import annotations

import contextlib
import datetime
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist

from assay_runner.errors import LostRank, RunnerError
from assay_runner.machine import devices

COMMAND = [sys.executable, "-m", "assay_runner", "rank"]
WAIT_S = 120.0  # also for a rank that still imports its libraries
_HOST = torch.device("cpu")
RAISED = 3  # the status of a rank that ended with an error of the harness's own: the others have it too
_BACKENDS = {"cuda": "nccl", "xpu": "xccl", "hpu": "hccl", "npu": "hccl"}  # by torch's device type
_INTERFACES = ("GLOO_SOCKET_IFNAME", "NCCL_SOCKET_IFNAME")
_OF_LINES = re.compile(r"gloo|nccl|connection|timed? ?out|socket|broken pipe|peer|rendezvous|store", re.IGNORECASE)


@dataclass
class Group:
    """The processes of one job, seen from one of them."""

    rank: int
    size: int
    backend: str
    device: torch.device = _HOST  # where what they say to each other is
    others: dict[int, subprocess.Popen] = field(default_factory=dict)
    wait_s: float = WAIT_S

    def meet(self) -> None:
        """Waits for all."""
        self.mean(0.0)

    def mean(self, value: float) -> float:
        """The mean of what each has."""
        shared = torch.tensor([value], dtype=torch.float64, device=self.device)
        dist.all_reduce(shared)
        return shared.item() / self.size

    def agreed(self, value: int) -> int:
        """Rank 0's number, on all."""
        shared = torch.tensor([value], dtype=torch.int64, device=self.device)
        dist.broadcast(shared, 0)
        return int(shared.item())

    def lost(self, error: Exception) -> LostRank | None:
        """Who is to blame for an error in what ranks say to each other; None where it is another error."""
        if isinstance(error, RunnerError) or not _OF_LINES.search(f"{type(error).__name__} {error}"):
            return None
        for rank, process in self.others.items():
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(timeout=1.0)  # what it did may be seen here before its end is
            status = process.poll()
            if status not in (None, 0, RAISED):
                return LostRank(f"rank {rank} of {self.size} ended with status {status}")
        waiting = ", ".join(map(str, self.others))
        return LostRank(f"rank {waiting} of {self.size} did not answer within {self.wait_s:g} s: {str(error)[:200]}")


def of(job: Mapping[str, Any], rank: int, size: int, local: int = 0) -> Group:
    """The group of a job, seen from one rank, which has the device after its `local` neighbours' where devices talk.
    RCCL calls itself nccl. Raises AbsentDevice where there is no such device."""
    cell = job["cell"]
    platform, first = str(cell.get("platform") or "cpu"), str(cell.get("device") or "")
    wait = float((job.get("options") or {}).get("rank_wait_s") or WAIT_S)
    way = _BACKENDS.get(devices.KINDS[platform].type) if platform in devices.KINDS else None
    if way is None:
        return Group(rank, size, "gloo", wait_s=wait)
    index = (int(first) if first.isdigit() else 0) + local
    return Group(rank, size, way, devices.Device(platform, str(index)).torch, wait_s=wait)


@contextmanager
def started(job: Mapping[str, Any]) -> Iterator[Group]:
    """The group of a job, its other processes started and joined; afterwards they are gone."""
    size = int(job["cell"].get("procs") or 1)
    of(job, size - 1, size, size - 1)  # the last one's device is here, or nobody need begin
    with tempfile.TemporaryDirectory(prefix="assay-ranks-") as folder:
        task = Path(folder) / "job.json"
        task.write_text(json.dumps(job))
        meeting = f"file://{folder}/meeting"
        os.environ |= _variables(0, size, folder)
        others = {rank: _start(rank, size, task, folder, meeting) for rank in range(1, size)}
        group = of(job, 0, size)
        group.others = others
        try:
            try:
                join(group, meeting)
                yield group
                group.meet()
            except Exception as error:
                if (lost := group.lost(error)) is not None:
                    raise lost from error
                raise
        finally:
            leave(group)


def _variables(rank: int, size: int, folder: str) -> dict[str, str]:
    """What libraries read their place from."""
    shared = {"WORLD_SIZE": str(size), "RANK": str(rank), "LOCAL_RANK": str(rank), "ASSAY_MEETING": folder}
    if sys.platform == "linux":  # all of them are here: neither the machine's own name nor a network is needed
        shared |= {name: "lo" for name in _INTERFACES if name not in os.environ}
    return shared


def _start(rank: int, size: int, task: Path, folder: str, meeting: str) -> subprocess.Popen:
    package = str(Path(__file__).parents[3])
    paths = [package, *filter(None, [os.environ.get("PYTHONPATH")])]
    more = {**_variables(rank, size, folder), "PYTHONPATH": os.pathsep.join(paths)}
    return subprocess.Popen([*COMMAND, str(task), meeting], env=os.environ | more, stdin=subprocess.DEVNULL, stdout=2)


def join(group: Group, meeting: str) -> None:
    """Joins the others. Each has a device of its own, and what they say to each other goes there too."""
    if group.device != _HOST:
        torch.get_device_module(group.device).set_device(group.device)
    limit = datetime.timedelta(seconds=group.wait_s)
    dist.init_process_group(group.backend, init_method=meeting, rank=group.rank, world_size=group.size, timeout=limit)


def leave(group: Group) -> None:
    """Ends what this process started, and its own part."""
    for process in group.others.values():
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(timeout=5.0 if process.poll() is None and dist.is_initialized() else 0.0)
        if process.poll() is None:
            process.kill()
            process.wait()
    if dist.is_initialized():
        with contextlib.suppress(Exception):  # a group whose members are gone cannot be left in good order
            dist.destroy_process_group()

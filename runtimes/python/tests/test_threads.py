"""No child computes with more threads than its share."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from runner_process import Runner, library, noop

from assay_runner.process import threads

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="forking runners are for Linux")

TORCH = "__version__ = '9'\ndef set_num_threads(n): print('threads', n, flush=True)"


@pytest.mark.parametrize(
    ("job", "count"),
    [
        ({"kind": "recipe"}, 1),
        ({"kind": "check"}, 1),
        ({"kind": "facts", "threads": 3}, 3),
        ({"kind": "time", "threads": 16}, 16),
        ({"kind": "time"}, 0),
    ],
)
def test_the_share_of_a_job(job, count):
    assert threads.share(job) == count


@pytest.mark.parametrize("arguments", [(), ("--spawn",)])
def test_a_child_is_bounded_before_it_computes(tmp_path, arguments):
    with Runner(*arguments, libraries=library(tmp_path, "torch", TORCH)) as runner:
        start = runner.next()["start"]
        for asked, said in ((None, "threads 1"), (4, "threads 4")):
            log = runner.run(noop(threads=asked))[-1]["log"]
            assert log.strip() == (said if start == "fork" else "")  # a fresh one has yet to import torch


def test_what_is_loaded_later_reads_it_from_the_environment(monkeypatch):
    for name in threads.VARIABLES:
        monkeypatch.setenv(name, "64")
    monkeypatch.setitem(sys.modules, "torch", None)
    threads.bound({"kind": "recipe"})
    assert {threads.os.environ[name] for name in threads.VARIABLES} == {"1"}


def test_a_child_is_held_to_its_processors():
    code = "import os, sys; from assay_runner.process import threads; threads.bound({'kind': 'time', 'pin': [%d]})"
    one = min(os.sched_getaffinity(0))
    told = subprocess.run(
        [sys.executable, "-c", code % one + "; print(sorted(os.sched_getaffinity(0)))"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert told.stdout.split() == [f"[{one}]"]

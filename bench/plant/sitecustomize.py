"""Makes every timed call of the runner slower by a known share, for `make aa`.

A zygote whose PYTHONPATH begins with this folder imports it when it starts. ASSAY_BENCH_PLANT says how ("sleep" or "work")
and by which share of a call's own time ("sleep 0.05"). The runner's sources are not changed: its timed loop is
given a slower call.
"""

import importlib.abc
import importlib.util
import os
import statistics
import sys
import time

_TARGET = "assay_runner.engines.timing"
_TRIES = 9  # calls that tell how long one takes
_WAKE_NS = 150_000  # a sleep ends late by less than this; the rest is spun


def _sleeper(extra_ns):
    def add():
        end = time.perf_counter_ns() + extra_ns
        if extra_ns > _WAKE_NS:
            time.sleep((extra_ns - _WAKE_NS) / 1e9)
        while time.perf_counter_ns() < end:
            pass

    return add


def _churn(count):
    x = 1.0
    for _ in range(count):
        x = x * 1.0000001 + 1e-9
    return x


def _worker(extra_ns):
    def cost(count):
        start = time.perf_counter_ns()
        _churn(count)
        return time.perf_counter_ns() - start

    each = statistics.median(cost(2000) for _ in range(_TRIES)) / 2000
    count = max(1, round(extra_ns / each))
    return lambda: _churn(count)


def _plant(timing, how, share):
    sample = timing.sample

    def slower(call, device, rule, expected_ms):
        own_ms = statistics.median(timing.once(call, device) for _ in range(_TRIES))
        add = {"sleep": _sleeper, "work": _worker}[how](own_ms * 1e6 * share)

        def planted():
            out = call()
            device.synchronize()
            add()
            return out

        return sample(planted, device, rule, expected_ms)

    timing.sample = slower


class _Finder(importlib.abc.MetaPathFinder):
    """Plants the fault when the timed loop is imported, and is gone then."""

    def find_spec(self, name, path=None, target=None):
        if name != _TARGET:
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        load = spec.loader.exec_module
        how, share = os.environ["ASSAY_BENCH_PLANT"].split()

        def exec_module(module):
            load(module)
            _plant(module, how, float(share))

        spec.loader.exec_module = exec_module
        return spec


if os.environ.get("ASSAY_BENCH_PLANT"):
    sys.meta_path.insert(0, _Finder())

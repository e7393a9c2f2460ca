"""Several inferences in flight at once: threads of one process, each with a request of its own.

A run hands WAVES inferences to each of them and awaits them all, so that the device is awaited at both ends of a sample
as everywhere else. How many there are is as many as a processor has cores for the cell, or four on a device of its own.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

WAVES = 8
ON_A_DEVICE = 4  # requests that a device with memory of its own is given at once


def count(on_the_host: bool, threads: int) -> int:
    """How many requests: one for each thread that the cell may compute with, or each core where it may use all."""
    if not on_the_host:
        return ON_A_DEVICE
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return threads or cores


class InFlight:
    """Calls that run at the same time, again and again. What one of them raises is raised."""

    def __init__(self, calls: Sequence[Callable[[], Any]], settle: Callable[[], None] = lambda: None) -> None:
        self._calls = list(calls)
        self._pool = ThreadPoolExecutor(len(self._calls), "in-flight", initializer=settle)
        self.items = WAVES * len(self._calls)

    def run(self) -> None:
        """All inferences of a run, the last one awaited."""
        for future in [self._pool.submit(self._waves, call) for call in self._calls]:
            future.result()

    @staticmethod
    def _waves(call: Callable[[], Any]) -> None:
        for _ in range(WAVES):
            call()

    def close(self) -> None:
        """Ends the threads."""
        self._pool.shutdown()

"""The timed loop: first inference, warm-up until stable, then samples.

A sample is one call between two readings of the monotonic clock, with the device
awaited before the first and before the second. Inside the loop nothing is
allocated by the harness but the sample itself, the garbage collector is off, and
nothing is sent. The device's own events are recorded only while they cost less
than one percent.
"""

from __future__ import annotations

import gc
import math
import statistics
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, Protocol

from assay_runner.machine.devices import Device

_EVENT_SHARE = 0.01
_WINDOW_MS = 40.0  # a window of the warm-up need not be longer
# On a device it is this long at least: clocks, allocator and kernels loaded late settle over tenths of a second, and
# five launches that agree with the five before them can both be from the beginning.
_DEVICE_WINDOW_MS = 100.0
_MAX_EVENTS = 20_000
_MAX_SAMPLES = 400_000  # what a report can hold
_SPINS, _SPIN = 9, range(5000)


@dataclass(frozen=True)
class Rule:
    """When a repeat ends: least time and least count, never beyond the most."""

    min_s: float = 1.0
    min_n: int = 64
    max_s: float = 60.0
    warmup_max_s: float = 5.0
    warmup_window: int = 5
    warmup_tolerance: float = 0.1

    @staticmethod
    def of(timing: dict[str, Any] | None) -> Rule:
        """The rule of a job; what it leaves out has the defaults."""
        known = {k: v for k, v in (timing or {}).items() if k in Rule.__dataclass_fields__ and v is not None}
        return Rule(**known)

    def shared(self, items: int) -> Rule:
        """The rule for calls that are this many inferences each: the least count is one of inferences."""
        return replace(self, min_n=math.ceil(self.min_n / items))


@dataclass
class Warmup:
    """What the warm-up saw."""

    count: int
    mean_ms: float | None
    stable: bool
    last_ms: float | None  # mean of the last window


@dataclass
class Samples:
    """What the timed loop saw."""

    ms: list[float]
    device_ms: list[float] | None
    cpu_ms_per_iter: float | None  # None where what runs is another process
    hidden: bool | None = None  # the page that ran it was out of view meanwhile; None where there is no page
    pace_ms: list[float] | None = None  # of this process's processor, before and after; None where another one computes


class Clock(Protocol):
    """Who times a call: the harness, or what runs it where that has a clock nearer to it."""

    def once(self) -> float:
        """Milliseconds of one call."""

    def warm_up(self, rule: Rule) -> Warmup:
        """Calls until times are stable."""

    def sample(self, rule: Rule, expected_ms: float | None) -> Samples:
        """The timed loop."""


@dataclass(frozen=True)
class Harness:
    """The harness's own clock around a call on a device."""

    call: Callable[[], Any]
    device: Device

    def once(self) -> float:
        """Milliseconds of one call, the device awaited at both ends."""
        return once(self.call, self.device)

    def warm_up(self, rule: Rule) -> Warmup:
        """Calls until the means of the last two windows agree."""
        return warm_up(self.call, self.device, rule)

    def sample(self, rule: Rule, expected_ms: float | None) -> Samples:
        """The timed loop of this module."""
        return sample(self.call, self.device, rule, expected_ms)


@contextmanager
def quiet() -> Iterator[None]:
    """No garbage collection inside."""
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def once(call: Callable[[], Any], device: Device) -> float:
    """Milliseconds of one call, the device awaited at both ends."""
    device.synchronize()
    start = time.perf_counter_ns()
    call()
    device.synchronize()
    return (time.perf_counter_ns() - start) / 1e6


def warm_up(call: Callable[[], Any], device: Device, rule: Rule) -> Warmup:
    """Calls until the means of the last two windows agree, or until the time is up."""
    return warmed(lambda: once(call, device), rule, window_on(device))


def warmed(
    measure: Callable[[], float], rule: Rule, window: Callable[[list[float], Rule], int] | None = None
) -> Warmup:
    """The warm-up of a call that tells its own milliseconds."""
    window = window or _window
    seen: list[float] = []
    began = time.perf_counter()
    while not (stable := _agree(seen, window(seen, rule), rule.warmup_tolerance)):
        if time.perf_counter() - began >= rule.warmup_max_s:
            break
        seen.append(measure())
    last = seen[-window(seen, rule) :]
    return Warmup(len(seen), sum(seen) / len(seen) if seen else None, stable, sum(last) / len(last) if last else None)


def window_on(device: Device) -> Callable[[list[float], Rule], int]:
    """How many calls make a window there, by what was seen of them."""
    return _window if device.cpu else _device_window


def _window(seen: list[float], rule: Rule) -> int:
    """How many calls make a window: as many as the rule says, fewer of slow ones, whose mean one call tells as well."""
    calls = math.ceil(_WINDOW_MS / max(min(seen), 1e-3)) if seen else rule.warmup_window
    return max(1, min(calls, rule.warmup_window))


def _device_window(seen: list[float], rule: Rule) -> int:
    """The same on a device: as many calls as take so long, by the newest, whatever the rule says."""
    return math.ceil(_DEVICE_WINDOW_MS / max(statistics.median(seen[-50:]), 1e-3)) if seen else rule.warmup_window


def _agree(seen: list[float], window: int, tolerance: float) -> bool:
    if len(seen) < 2 * window or len(seen) % window:
        return False
    before, after = sum(seen[-2 * window : -window]), sum(seen[-window:])
    return abs(after - before) <= tolerance * before


def sample(call: Callable[[], Any], device: Device, rule: Rule, expected_ms: float | None) -> Samples:
    """The timed loop. expected_ms is the warm-up's last mean: it sizes the pool of events."""
    events = _events(device, rule, expected_ms)
    clock, synchronize = time.perf_counter_ns, device.synchronize
    samples: list[int] = []
    before = pace()
    synchronize()
    cpu = time.process_time_ns()
    began = clock()
    enough, most = began + int(rule.min_s * 1e9), began + int(rule.max_s * 1e9)
    pool = iter(events)
    while True:
        pair = next(pool, None)
        start = clock()
        if pair:
            pair[0].record()
            call()
            pair[1].record()
        else:
            call()
        synchronize()
        end = clock()
        samples.append(end - start)
        if end >= most or len(samples) >= _MAX_SAMPLES or (end >= enough and len(samples) >= rule.min_n):
            break
    cpu = time.process_time_ns() - cpu
    ms = [s / 1e6 for s in samples]
    return Samples(ms, _elapsed(events[: len(ms)]), cpu / 1e6 / len(ms), pace_ms=[before, pace()])


def pace() -> float:
    """Milliseconds of a fixed piece of work of the processor alone, some three milliseconds in all.

    It has nothing to do with what is timed. Where it takes longer in one repeat than in another, the processor itself
    was slower: its clock, or what others do on the same core, which on a virtual machine no load average tells.
    """
    taken = []
    for _ in range(_SPINS):
        start, total = time.perf_counter_ns(), 0
        for i in _SPIN:
            total += i * i
        taken.append(time.perf_counter_ns() - start)
    return statistics.median(taken) / 1e6


def _events(device: Device, rule: Rule, expected_ms: float | None) -> list[tuple[Any, Any]]:
    """Pairs of events for the loop to come, or none where recording them would show in the samples."""
    if device.event() is None or not expected_ms:
        return []
    if _event_cost_ms(device) > _EVENT_SHARE * expected_ms:
        return []
    wanted = max(rule.min_n, int(2 * rule.min_s * 1e3 / expected_ms) + 1)
    return [(device.event(), device.event()) for _ in range(min(wanted, _MAX_EVENTS))]


def _event_cost_ms(device: Device) -> float:
    """What the two events of a sample cost; the first recordings, which set things up, do not count."""
    trial, taken = device.event(), []
    for _ in range(30):
        start = time.perf_counter_ns()
        trial.record()
        taken.append(time.perf_counter_ns() - start)
    device.synchronize()
    return 2 * sorted(taken)[len(taken) // 2] / 1e6


def _elapsed(events: list[tuple[Any, Any]]) -> list[float] | None:
    return [start.elapsed_time(end) for start, end in events] or None


def apart(
    parts: Mapping[str, Callable[[Any], Any]],
    synchronize: Callable[[], None],
    count: int,
    clock: Callable[[], int] = time.perf_counter_ns,
) -> dict[str, list[float]]:
    """Milliseconds of the parts of this many calls, each given what the one before it gave. The device is awaited
    after each: what it was asked for in a part is not another's."""
    found: dict[str, list[float]] = {name: [] for name in parts}
    for _ in range(count):
        synchronize()
        value, began = None, clock()
        for name, part in parts.items():
            value = part(value)
            synchronize()
            ended = clock()
            found[name].append((ended - began) / 1e6)
            began = ended
    return found


def share(samples: Samples) -> int:
    """How many calls are taken apart after this many samples."""
    return max(3, min(len(samples.ms) // 4, 64))

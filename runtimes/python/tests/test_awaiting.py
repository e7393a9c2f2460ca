"""A sample is over when its device is: what was asked for is part of it, and nothing of the sample before."""

from types import SimpleNamespace

import pytest

from assay_runner.engines import timing


class Lazy:
    """A device that only works while it is awaited, on a clock of its own."""

    def __init__(self):
        self.now, self.asked, self.waits = 0, 0, 0

    def synchronize(self):
        self.now, self.asked, self.waits = self.now + self.asked, 0, self.waits + 1

    def call(self):
        self.asked += 7_000_000

    def event(self):
        return None


@pytest.fixture
def lazy(monkeypatch):
    device = Lazy()
    clock = SimpleNamespace(
        perf_counter_ns=lambda: device.now, perf_counter=lambda: device.now / 1e9, process_time_ns=lambda: 0
    )
    monkeypatch.setattr(timing, "time", clock)
    return device


def test_a_call_takes_what_its_device_does(lazy):
    lazy.call()  # what was asked before is not the call's
    assert timing.once(lazy.call, lazy) == 7.0


def test_a_sample_takes_what_its_device_does(lazy):
    lazy.call()
    rule = timing.Rule(min_s=0.05, min_n=5, max_s=0.2)
    assert set(timing.sample(lazy.call, lazy, rule, 7.0).ms) == {7.0}


def test_without_being_awaited_it_would_take_nothing(lazy):
    device = SimpleNamespace(synchronize=lambda: None, event=lambda: None)
    assert timing.once(lazy.call, device) == 0.0

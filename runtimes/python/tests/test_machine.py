"""Memory, devices, context and the timed loop."""

import time
import types

import torch

from assay_runner.engines import timing
from assay_runner.errors import AbsentDevice
from assay_runner.machine import context, devices, memory
from assay_runner.machine.devices import Device


def test_host_memory_sees_an_allocation():
    host = memory.Host()
    block = torch.ones(64 << 20, dtype=torch.uint8)
    report = host.report()
    assert report["host_peak_bytes"] - report["host_baseline_bytes"] > 50 << 20
    assert block.sum() == 64 << 20


def test_available_takes_the_least(monkeypatch):
    machine = memory.available()
    assert machine is None or machine > 0
    monkeypatch.setattr(memory, "_kib_field", lambda *_: 7)
    for room, least in ((5, 5), (9, 7), (None, 7)):
        monkeypatch.setattr(memory, "_cgroup_room", lambda room=room: room)
        assert memory.available() == least


def test_every_device_row_can_be_asked_for():
    for platform in devices.KINDS:
        try:
            device = Device(platform)
        except AbsentDevice as err:
            assert str(err)
            continue
        device.open()
        device.synchronize()
        assert device.torch.type == devices.KINDS[platform].type


def test_cpu_device_knows_no_device_memory():
    device = Device("cpu")
    assert device.used() is None
    assert device.framework_peak() is None
    assert device.event() is None
    assert device.sensors() is None


def test_float32_means_float32():
    assert devices.exact_float32() == {"tf32": False, "float32_matmul_precision": "highest"}
    assert not torch.backends.cuda.matmul.allow_tf32
    assert not torch.backends.cudnn.allow_tf32


def tree(root, files):
    for path, text in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    return context.Machine(root)


CPU0 = "sys/devices/system/cpu/cpu0"


def test_a_laptop_on_battery(tmp_path):
    machine = tree(
        tmp_path,
        {
            f"{CPU0}/cpufreq/scaling_governor": "powersave\n",
            "sys/devices/system/cpu/intel_pstate/no_turbo": "1\n",
            f"{CPU0}/cpufreq/scaling_cur_freq": "2400000\n",
            f"{CPU0}/thermal_throttle/core_throttle_count": "3\n",
            "sys/class/thermal/thermal_zone0/type": "x86_pkg_temp\n",
            "sys/class/thermal/thermal_zone0/temp": "51000\n",
            "sys/class/thermal/thermal_zone1/type": "iwlwifi_1\n",
            "sys/class/thermal/thermal_zone1/temp": "99000\n",
            "sys/class/power_supply/AC/type": "Mains\n",
            "sys/class/power_supply/AC/online": "0\n",
            "sys/class/power_supply/BAT0/type": "Battery\n",
            "sys/class/power_supply/BAT0/status": "Discharging\n",
            "proc/loadavg": "0.52 0.4 0.3 1/200 1234\n",
        },
    )
    assert machine.governor() == "powersave"
    assert machine.turbo() is False
    assert machine.clock_mhz() == 2400
    assert machine.throttle_count() == 3
    assert machine.temperature_c() == 51
    assert machine.power_source() == "battery"
    assert machine.load() == 0.52


def test_an_empty_machine_knows_nothing(tmp_path):
    report = context.Watch(Device("cpu"), context.Machine(tmp_path)).report(2, {})
    unknown = ("governor", "turbo", "clock_mhz", "temperature_c", "throttled", "power_source", "load_before")
    assert {report[name] for name in unknown} == {None}
    assert report["threads"] == 2
    assert report["versions"]["torch"] == torch.__version__


class Clock:
    """A call that takes as long as it is told."""

    def __init__(self, *seconds):
        self.calls, self.seconds = 0, seconds

    def __call__(self):
        time.sleep(self.seconds[min(self.calls, len(self.seconds) - 1)])
        self.calls += 1


def test_the_pace_of_the_processor_is_taken_around_the_samples(monkeypatch):
    order = []

    def call():
        order.append("call")

    monkeypatch.setattr(timing, "pace", lambda: order.append("pace") or len(order))
    samples = timing.sample(call, Device("cpu"), timing.Rule(min_s=0.0, min_n=3, max_s=5), 1.0)
    assert order == ["pace", "call", "call", "call", "pace"] and samples.pace_ms == [1, 5]


def test_a_slower_processor_has_a_slower_pace(monkeypatch):
    usual = timing.pace()
    assert usual > 0
    monkeypatch.setattr(timing, "_SPIN", range(20 * len(timing._SPIN)))
    assert timing.pace() > 3 * usual


def test_samples_go_on_until_time_and_count_are_reached():
    rule = timing.Rule(min_s=0.05, min_n=3, max_s=5)
    samples = timing.sample(Clock(0.005), Device("cpu"), rule, 5.0)
    assert sum(samples.ms) >= 40
    assert len(samples.ms) >= 3
    assert min(samples.ms) >= 5
    assert samples.cpu_ms_per_iter < 5  # sleeping is no CPU time
    counted = timing.sample(Clock(0.001), Device("cpu"), timing.Rule(min_s=0.0, min_n=20, max_s=5), 1.0)
    assert len(counted.ms) == 20


def test_the_hard_maximum_holds():
    samples = timing.sample(Clock(0.02), Device("cpu"), timing.Rule(min_s=9, min_n=1000, max_s=0.1), 20.0)
    assert 1 <= len(samples.ms) <= 6


def told(*ms):
    """A call that says how long it took: a busy machine changes nothing about that."""
    left = list(ms)
    return lambda: left.pop(0) if len(left) > 1 else left[0]


def test_warm_up_waits_for_stability():
    warm = timing.warmed(told(50, 30, 10, 5), timing.Rule(warmup_window=2, warmup_tolerance=0.5))
    assert warm.stable
    assert warm.count == 6
    assert warm.mean_ms > warm.last_ms
    capped = timing.warm_up(Clock(0.001), Device("cpu"), timing.Rule(warmup_window=5000, warmup_max_s=0.02))
    assert not capped.stable
    assert 1 <= capped.count <= 25


def test_slow_calls_need_short_windows():
    warm = timing.warmed(told(60), timing.Rule(warmup_window=5))
    assert warm.stable
    assert warm.count == 2


def test_a_device_is_not_called_warm_after_a_few_launches_that_agree():
    """As an H200 was seen: nine launches alike, and then half as long."""
    seen = [8.7] * 9 + [8.6, 7.1, 6.0, 5.1, 4.6, 4.3]
    few = timing.warmed(told(*seen, 4.2), timing.Rule(warmup_max_s=5))
    assert few.stable
    assert few.last_ms > 8
    device = types.SimpleNamespace(cpu=False, synchronize=lambda: None)
    whole = timing.warmed(told(*seen, 4.2), timing.Rule(warmup_max_s=5), timing.window_on(device))
    assert whole.stable
    assert whole.last_ms < 4.5
    assert whole.count * 4.2 >= 200
    slow = timing.warmed(told(900, 300), timing.Rule(warmup_max_s=5), timing.window_on(device))
    assert slow.count == 3


def test_a_rule_takes_what_the_job_gives():
    assert timing.Rule.of({"min_s": 0.2, "min_n": 10, "max_s": 5, "newer": 1, "warmup_window": None}).min_n == 10
    assert timing.Rule.of(None) == timing.Rule()

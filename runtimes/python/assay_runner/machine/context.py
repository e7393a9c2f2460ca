"""The state of the machine that matters to a measurement. Null where it is unknown.

Read from sysfs and procfs, once before the work and once after; nothing polls.
"""

from __future__ import annotations

import os
import platform
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

import torch

from assay_runner.machine.devices import Device
from assay_runner.machine.sensors import Nvidia
from assay_runner.process import turns

_CPU = "sys/devices/system/cpu"
_PACKAGES = ("transformers", "numpy", "timm", "safetensors")
_THERMAL_NAMES = ("x86_pkg_temp", "cpu-thermal", "cpu_thermal", "soc_thermal", "acpitz")
_HWMON_NAMES = ("coretemp", "k10temp", "zenpower", "cpu_thermal")


class Machine:
    """The state of one machine; root is where its file systems are."""

    def __init__(self, root: Path = Path("/")) -> None:
        self._root = root

    def _text(self, path: str | Path) -> str | None:
        try:
            return (self._root / path).read_text().strip() or None
        except (OSError, UnicodeDecodeError):
            return None

    def _number(self, path: str | Path) -> float | None:
        try:
            return float(self._text(path) or "")
        except ValueError:
            return None

    def governor(self) -> str | None:
        """The rule by which the kernel sets clocks."""
        return self._text(f"{_CPU}/cpu0/cpufreq/scaling_governor")

    def turbo(self) -> bool | None:
        """Whether clocks may go beyond the usual one."""
        off = self._text(f"{_CPU}/intel_pstate/no_turbo")
        if off is not None:
            return off == "0"
        boost = self._text(f"{_CPU}/cpufreq/boost")
        return None if boost is None else boost == "1"

    def clock_mhz(self) -> float | None:
        """Mean clock over the processors that tell theirs."""
        paths = (self._root / _CPU).glob("cpu[0-9]*/cpufreq/scaling_cur_freq")
        khz = [n for n in map(self._number, paths) if n]
        if khz:
            return round(sum(khz) / len(khz) / 1e3, 1)
        lines = (self._text("proc/cpuinfo") or "").splitlines()
        mhz = [float(line.split(":")[1]) for line in lines if line.startswith("cpu MHz")]
        return round(sum(mhz) / len(mhz), 1) if mhz else None

    def temperature_c(self) -> float | None:
        """The hottest of the processor's own sensors."""
        found = []
        for zone in (self._root / "sys/class/thermal").glob("thermal_zone*"):
            if (self._text(zone / "type") or "") in _THERMAL_NAMES:
                found.append(self._number(zone / "temp"))
        for chip in (self._root / "sys/class/hwmon").glob("hwmon*"):
            if (self._text(chip / "name") or "") in _HWMON_NAMES:
                found += map(self._number, chip.glob("temp*_input"))
        return max((n / 1000 for n in found if n is not None), default=None)

    def throttle_count(self) -> float | None:
        """How often the processors were slowed by heat since the start; only differences mean something."""
        paths = (self._root / _CPU).glob("cpu[0-9]*/thermal_throttle/*_throttle_count")
        counts = [n for n in map(self._number, paths) if n is not None]
        return sum(counts) if counts else None

    def power_source(self) -> str | None:
        """Mains or battery, in one word."""
        online = discharging = None
        for supply in (self._root / "sys/class/power_supply").glob("*"):
            if self._text(supply / "type") == "Mains":
                online = online or self._text(supply / "online") == "1"
            elif self._text(supply / "type") == "Battery" and self._text(supply / "scope") != "Device":
                discharging = discharging or self._text(supply / "status") == "Discharging"
        if online:
            return "mains"
        return "battery" if discharging or online is False else None

    def load(self) -> float | None:
        """Mean number of runnable processes over the last minute."""
        try:
            return float((self._text("proc/loadavg") or "").split()[0])
        except (IndexError, ValueError):
            return None


@cache
def packages() -> dict[str, str]:
    """The versions of packages, which are looked for in many folders: once, before any child is forked."""
    found = {}
    for name in _PACKAGES:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found


def versions(device: Device) -> dict[str, str]:
    """Versions of what the result depends on; what is not there is left out."""
    found = {"python": platform.python_version(), "torch": torch.__version__, **packages()}
    if device.cpu:
        return found | {"cpu_capability": torch.backends.cpu.get_cpu_capability()}
    cudnn = torch.backends.cudnn.version() if device.kind.type == "cuda" else None
    sensors = device.sensors()
    built = {
        "cuda": torch.version.cuda,
        "hip": torch.version.hip,
        "cudnn": cudnn,
        "device": device.name(),
        "driver": sensors.driver() if sensors else None,
    }
    return found | {name: str(value) for name, value in built.items() if value}


class Watch:
    """The context of one job: made before the work, reported after it."""

    def __init__(self, device: Device, machine: Machine | None = None) -> None:
        self._device, self._machine = device, machine or Machine()
        self._load = self._machine.load()
        self._before = self._now()
        self._gpu: Nvidia | None = None
        self._room: dict[str, Any] = {}
        self._gpu_before: tuple[float | None, float | None] = (None, None)

    def opened(self) -> None:
        """The device is open: its own sensors can be read from now on."""
        self._gpu, self._room = self._device.sensors(), self._device.room()
        if self._gpu:
            self._gpu_before = self._gpu.clock_mhz(), self._gpu.temperature_c()

    def energy_j(self) -> float | None:
        """What the device has used so far, by the driver's counter. The whole device: whoever uses it."""
        used = self._gpu.energy_mj() if self._gpu else None
        return None if used is None else used / 1000

    def _gpu_report(self) -> dict[str, Any]:
        if self._gpu is None:
            return {}
        clock, hot = self._gpu_before
        return {
            "device_clock_mhz": _both(clock, self._gpu.clock_mhz()),
            "device_temperature_c": _both(hot, self._gpu.temperature_c()),
            "device_throttled": self._gpu.throttled(),
        }

    def _now(self) -> tuple[float | None, float | None, float | None]:
        m = self._machine
        return m.clock_mhz(), m.temperature_c(), m.throttle_count()

    def report(self, threads: int, precision: dict[str, Any]) -> dict[str, Any]:
        """The state before and now."""
        (clock0, hot0, count0), (clock1, hot1, count1) = self._before, self._now()
        return {
            **self._gpu_report(),
            **self._room,
            "variables": self._device.variables(),
            "versions": versions(self._device),
            "governor": self._machine.governor(),
            "turbo": self._machine.turbo(),
            "clock_mhz": _both(clock0, clock1),
            "temperature_c": _both(hot0, hot1),
            "throttled": None if count0 is None or count1 is None else count1 > count0,
            "power_source": self._machine.power_source(),
            "load_before": self._load,
            "threads": threads,
            "jobs_before": turns.before,
            "affinity": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else None,
            **precision,
        }


def _both(before: float | None, after: float | None) -> list[float] | None:
    return None if before is None or after is None else [before, after]

"""NVIDIA's library, played by a table: what the probe and the sensors make of what it says, and of its silence."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from assay_runner.machine import nvml
from assay_runner.machine.sensors import Nvidia
from assay_runner.probes import nvml_probe

NOT_SUPPORTED = 3


def says(number, *fields):
    """A function that writes into what it is given last, where it is a number or a structure, and succeeds."""

    def call(*arguments):
        into = arguments[-1]._obj
        for field in fields or ("value",):
            setattr(into, field, number)
        return nvml.SUCCESS

    return call


def writes(text):
    """A function that writes a text into the buffer before its size."""

    def call(*arguments):
        arguments[-2].value = text
        return nvml.SUCCESS

    return call


def refuses(*_arguments):
    return NOT_SUPPORTED


def library(**others):
    capability = iter([9, 0])

    def capable(_handle, major, minor):
        major._obj.value, minor._obj.value = next(capability), next(capability)
        return nvml.SUCCESS

    known = {
        "nvmlInit_v2": lambda: nvml.SUCCESS,
        "nvmlShutdown": lambda: nvml.SUCCESS,
        "nvmlErrorString": lambda status: b"Driver Not Loaded",
        "nvmlSystemGetDriverVersion": writes(b"610.7"),
        "nvmlSystemGetCudaDriverVersion_v2": says(13020),
        "nvmlDeviceGetCount_v2": says(1),
        "nvmlDeviceGetHandleByIndex_v2": says(7),
        "nvmlDeviceGetHandleByUUID": says(7),
        "nvmlDeviceGetMemoryInfo": says(80 << 30, "total"),
        "nvmlDeviceGetCudaComputeCapability": capable,
        "nvmlDeviceGetName": writes(b"NVIDIA H200"),
        "nvmlDeviceGetUUID": writes(b"GPU-1"),
        "nvmlDeviceGetTemperature": says(41),
        "nvmlDeviceGetClockInfo": says(1980),
        "nvmlDeviceGetCurrentClocksThrottleReasons": says(0x44),
        "nvmlDeviceGetTotalEnergyConsumption": says(5),
    }
    return SimpleNamespace(**known | others)


@pytest.fixture
def there(monkeypatch):
    def put(found):
        monkeypatch.setattr(nvml, "_load", lambda: found)

    return put


def test_what_the_probe_tells(there):
    there(library())
    device = {"index": 0, "name": "NVIDIA H200", "uuid": "GPU-1", "memory_bytes": 80 << 30, "capability": [9, 0]}
    assert nvml_probe.answer() == {"driver": "610.7", "cuda": "13.2", "devices": [device]}


def test_the_probe_closes_the_library(there):
    closed = []
    there(library(nvmlShutdown=lambda: closed.append(True)))
    nvml_probe.answer()
    assert closed == [True]


@pytest.mark.parametrize(("torch_says", "asked"), [("1", b"GPU-1"), ("GPU-1", b"GPU-1"), ("MIG-2", b"MIG-2")])
def test_a_device_is_asked_for_by_its_whole_name(there, torch_says, asked):
    names = []

    def find(name, handle):
        names.append(name)
        return nvml.SUCCESS

    there(library(nvmlDeviceGetHandleByUUID=find))
    Nvidia(torch_says)
    assert names == [asked]


def test_what_the_driver_refuses_is_not_known(there):
    there(library(nvmlSystemGetDriverVersion=refuses, nvmlDeviceGetCount_v2=refuses))
    assert nvml_probe.answer() == {"driver": None, "cuda": "13.2", "devices": []}


@pytest.mark.parametrize(
    ("found", "why"),
    [(None, "is not installed"), (library(nvmlInit_v2=lambda: 9), "does not start: Driver Not Loaded")],
)
def test_absence_is_no_error(there, found, why):
    there(found)
    assert why in nvml_probe.answer()["absent"]
    sensors = Nvidia("GPU-1")
    assert (sensors.driver(), sensors.clock_mhz(), sensors.throttled()) == (None, None, None)


def test_what_the_sensors_read(there):
    there(library())
    sensors = Nvidia("1")
    assert (sensors.driver(), sensors.temperature_c(), sensors.clock_mhz()) == ("610.7", 41, 1980)
    assert sensors.throttled() is True
    assert sensors.energy_mj() == 5


def test_a_sensor_or_a_device_that_is_not_there(there):
    there(library(nvmlDeviceGetClockInfo=refuses))
    assert Nvidia("1").clock_mhz() is None
    there(library(nvmlDeviceGetHandleByUUID=refuses))
    assert Nvidia("1").temperature_c() is None

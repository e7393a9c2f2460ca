"""The table of devices, with torch's modules of devices that are not here replaced by ones that keep count."""

import types
import warnings

import pytest
import torch

from assay_runner.checking import placement
from assay_runner.errors import AbsentDevice
from assay_runner.machine import context, devices
from assay_runner.machine.devices import Device


class Mps:
    """torch.mps of a machine with a GPU: what the runner calls of it."""

    def __init__(self):
        self.waits = 0

    def synchronize(self):
        self.waits += 1

    def driver_allocated_memory(self):
        return 3 << 20

    def recommended_max_memory(self):
        return 10 << 30

    def empty_cache(self):
        pass


class Hip(Mps):
    """torch.cuda of a ROCm build with two GPUs."""

    Event = staticmethod(lambda enable_timing: ("event", enable_timing))

    def is_available(self):
        return True

    def device_count(self):
        return 2

    def set_device(self, device):
        self.chosen = device

    def get_device_name(self, device):
        return "AMD Instinct"

    def mem_get_info(self, device):
        return 60 << 30, 64 << 30

    def max_memory_allocated(self, device):
        return 5 << 20

    def reset_peak_memory_stats(self, device):
        self.reset = device


@pytest.fixture
def mps(monkeypatch):
    module = Mps()
    monkeypatch.setattr(torch, "mps", module)
    monkeypatch.setattr(torch.backends.mps, "is_built", lambda: True)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: True)
    return module


@pytest.fixture
def hip(monkeypatch):
    module = Hip()
    monkeypatch.setattr(torch, "cuda", module)
    monkeypatch.setattr(torch, "version", types.SimpleNamespace(cuda=None, hip="6.4"))
    return module


def test_mps(mps):
    device = Device("mps", "mps")
    assert device.torch == torch.device("mps")
    device.synchronize()
    assert mps.waits == 1
    assert device.used() == 3 << 20
    assert device.room() == {"device_memory_bytes": 10 << 30, "unified_memory": True}
    device.reset_framework_peak()
    assert device.framework_peak() is None  # Metal's allocator keeps none
    assert device.event() is None
    assert device.sensors() is None
    assert device.name() is None


def test_rocm(hip):
    device = Device("rocm", "1")
    assert device.torch == torch.device("cuda", 1)
    assert device.used() == 4 << 30
    assert device.room() == {"device_memory_bytes": 64 << 30, "unified_memory": False}
    device.reset_framework_peak()
    assert hip.reset == device.torch
    assert device.framework_peak() == 5 << 20
    assert device.event() == ("event", True)
    assert device.name() == "AMD Instinct"
    assert device.sensors() is None  # NVIDIA's library knows nothing about it
    with pytest.raises(AbsentDevice, match="there is no rocm:2"):
        Device("rocm", "2")


def test_a_rocm_build_is_no_cuda_build(hip):
    with pytest.raises(AbsentDevice, match="cuda needs a CUDA build"):
        Device("cuda")


@pytest.mark.parametrize(
    ("built", "available", "says"), [(False, False, "needs torch for macOS"), (True, False, "finds no mps device")]
)
def test_mps_that_is_not_there(monkeypatch, built, available, says):
    monkeypatch.setattr(torch.backends.mps, "is_built", lambda: built)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: available)
    with pytest.raises(AbsentDevice, match=says):
        Device("mps")


@pytest.mark.parametrize(
    ("platform", "name"),
    [
        ("cpu", "ONEDNN_MAX_CPU_ISA"),
        ("mps", "PYTORCH_ENABLE_MPS_FALLBACK"),
        ("rocm", "HIP_VISIBLE_DEVICES"),
        ("rocm", "ROCR_VISIBLE_DEVICES"),
        ("rocm", "CUDA_VISIBLE_DEVICES"),
        ("cuda", "CUDA_VISIBLE_DEVICES"),
    ],
)
def test_variables_that_hide_devices_are_recorded(platform, name):
    assert name in devices.KINDS[platform].variables
    device = Device.__new__(Device)
    device.kind = devices.KINDS[platform]
    assert device.variables({name: "1", "HOME": "/"}) == {name: "1"}
    assert device.variables({}) == {}


def test_the_context_has_room_and_variables(mps, monkeypatch):
    monkeypatch.setenv("PYTORCH_ENABLE_MPS_FALLBACK", "1")
    watch = context.Watch(Device("mps"))
    watch.opened()
    report = watch.report(1, {})
    assert report["variables"] == {"PYTORCH_ENABLE_MPS_FALLBACK": "1"}
    assert report["device_memory_bytes"] == 10 << 30
    assert report["unified_memory"] is True


# As torch words it, once with the overload's name.
FELL_BACK = (
    "The operator '{}' is not currently supported on the MPS backend and will fall back to run on the CPU. "
    "This may have performance implications. (Triggered internally at MPSFallback.mm:15.)"
)


@pytest.mark.parametrize(("value", "why"), [("1", "PYTORCH_ENABLE_MPS_FALLBACK=1"), (None, "by itself")])
def test_operators_that_fell_back_are_named_and_counted(value, why):
    environ = {} if value is None else {"PYTORCH_ENABLE_MPS_FALLBACK": value}
    with placement.fallbacks(environ) as found:
        assert torch.is_warn_always_enabled()
        for name in ("aten::mode", "aten::linalg_svd.U", "aten::mode"):
            warnings.warn(FELL_BACK.format(name), stacklevel=1)
        warnings.warn("something else", stacklevel=1)
    assert [(f["operator"], f["count"], f["where"]) for f in found] == [
        ("aten::mode", 2, "cpu"),
        ("aten::linalg_svd.U", 1, "cpu"),
    ]
    assert all(why in f["why"] for f in found)
    assert not torch.is_warn_always_enabled()


def test_where_nothing_falls_back_nothing_is_found():
    with placement.fallbacks() as found:
        torch.ones(2) + 1
    assert found == []

"""The devices that torch reaches, as a table: how each is found, awaited and measured.

A row names torch's device type and the module that serves it; the rows differ
in data, not in code. ROCm is torch's CUDA interface in a build made with HIP, so
a platform's row also says which build it takes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

from assay_runner.errors import AbsentDevice, UnsupportedDType
from assay_runner.sensors import Nvidia

DTYPES = {"fp32": torch.float32, "fp16": torch.float16, "bf16": torch.bfloat16}


@dataclass(frozen=True)
class Kind:
    """A platform as torch sees it."""

    type: str  # torch's device type
    module: Callable[[], Any]  # torch.cuda, torch.mps, …
    build: Callable[[], bool]  # whether this torch was built for the platform
    wanted: str  # what to install when it was not
    driver_memory: str = ""  # the module's function giving (free, total)
    framework_peak: str = ""  # the module's functions for the allocator's peak
    framework_reset: str = ""
    events: bool = False


KINDS: dict[str, Kind] = {
    "cpu": Kind("cpu", lambda: None, lambda: True, ""),
    "cuda": Kind(
        "cuda", lambda: torch.cuda, lambda: torch.version.cuda is not None, "a CUDA build of torch",
        "mem_get_info", "max_memory_allocated", "reset_peak_memory_stats", True,
    ),
    "rocm": Kind(
        "cuda", lambda: torch.cuda, lambda: torch.version.hip is not None, "a ROCm build of torch",
        "mem_get_info", "max_memory_allocated", "reset_peak_memory_stats", True,
    ),
    "mps": Kind("mps", lambda: torch.mps, lambda: torch.backends.mps.is_built(), "torch for macOS on Apple silicon"),
    "xpu": Kind(
        "xpu", lambda: torch.xpu, lambda: getattr(torch.version, "xpu", None) is not None, "an XPU build of torch",
        "mem_get_info", "max_memory_allocated", "reset_peak_memory_stats", True,
    ),
}  # fmt: skip


def dtype(name: str) -> torch.dtype:
    """The torch dtype of a cell's."""
    if name not in DTYPES:
        raise UnsupportedDType(f"the torch engine does not run in {name}: its dtypes are {', '.join(DTYPES)}")
    return DTYPES[name]


class Device:
    """A device in use. Every method is safe on every device; what is unknown is None."""

    def __init__(self, platform: str, index: str = "") -> None:
        kind = KINDS.get(platform)
        if kind is None:
            raise AbsentDevice(f"the torch engine has no platform {platform!r}: it has {', '.join(KINDS)}")
        if not kind.build():
            raise AbsentDevice(f"{platform} needs {kind.wanted}; this is torch {torch.__version__}")
        self.platform, self.kind, self.module = platform, kind, kind.module()
        self.torch = self._select(index)
        self.cpu = kind.type == "cpu"
        self.baseline: int | None = None

    def _select(self, index: str) -> torch.device:
        if self.kind.type == "cpu":
            return torch.device("cpu")
        available = torch.backends.mps.is_available() if self.kind.type == "mps" else self.module.is_available()
        if not available:
            raise AbsentDevice(f"torch {torch.__version__} finds no {self.platform} device on this machine")
        if self.kind.type == "mps":
            return torch.device("mps")
        n, count = int(index) if index.isdigit() else 0, self.module.device_count()
        if n >= count:
            raise AbsentDevice(f"there is no {self.platform}:{n}: torch finds {count} device(s)")
        return torch.device(self.kind.type, n)

    def open(self) -> None:
        """Makes the device's context, so that its cost is no model's, and notes what is in use before the model."""
        if self.cpu:
            return
        if hasattr(self.module, "set_device"):
            self.module.set_device(self.torch)
        torch.empty(1, device=self.torch)
        self.synchronize()
        self.baseline = self.used()

    def name(self) -> str | None:
        """The device's name as its driver gives it."""
        if self.cpu or not hasattr(self.module, "get_device_name"):
            return None
        return self.module.get_device_name(self.torch)

    def sensors(self) -> Nvidia | None:
        """What the driver can tell of the device beside torch; NVIDIA's only."""
        if self.platform != "cuda" or not hasattr(self.module, "get_device_properties"):
            return None
        uuid = getattr(self.module.get_device_properties(self.torch), "uuid", None)
        return Nvidia(str(uuid)) if uuid else None

    def synchronize(self) -> None:
        """Waits until everything that was asked of the device is done."""
        if not self.cpu:
            self.module.synchronize()

    def used(self) -> int | None:
        """Bytes of the device's memory in use, by the driver's counter, whoever uses them."""
        if self.kind.type == "mps":
            return self.module.driver_allocated_memory()
        if not self.kind.driver_memory or not hasattr(self.module, self.kind.driver_memory):
            return None
        free, total = getattr(self.module, self.kind.driver_memory)(self.torch)
        return total - free

    def reset_framework_peak(self) -> None:
        """Begins a new peak of torch's allocator."""
        if self.kind.framework_reset:
            getattr(self.module, self.kind.framework_reset)(self.torch)

    def framework_peak(self) -> int | None:
        """The most bytes that torch's allocator had given out since the reset."""
        if not self.kind.framework_peak:
            return None
        return getattr(self.module, self.kind.framework_peak)(self.torch)

    def empty_cache(self) -> None:
        """Gives back what torch's allocator keeps for later."""
        if not self.cpu:
            self.module.empty_cache()

    def event(self) -> Any | None:
        """A device event that keeps time, or None."""
        return self.module.Event(enable_timing=True) if self.kind.events else None


def exact_float32() -> dict[str, bool | str]:
    """Makes fp32 mean fp32 (no TF32, no bf16 inside products), and says what holds now."""
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cudnn.allow_tf32 = False
    torch.set_float32_matmul_precision("highest")
    return {"tf32": False, "float32_matmul_precision": torch.get_float32_matmul_precision()}

"""The devices that torch reaches, as a table: how each is found, awaited and measured.

A row names torch's device type and the module that serves it; the rows differ
in data, not in code. ROCm is torch's CUDA interface in a build made with HIP, so
a platform's row also says which build it takes. Devices of some makers come with packages
of theirs (`plugins`), which are imported when such a device is asked for.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

import torch

from assay_runner.errors import AbsentDevice, UnsupportedDType
from assay_runner.machine import instructions, plugins
from assay_runner.machine.sensors import Nvidia

DTYPES = {"fp32": torch.float32, "fp16": torch.float16, "bf16": torch.bfloat16}


@dataclass(frozen=True)
class Memory:
    """How a device's memory is asked for; each takes torch's module and the device, and gives bytes."""

    used: Callable[[Any, torch.device], int | None]  # by the driver's counter, whoever uses them
    room: Callable[[Any, torch.device], int | None]  # all that there is, or all that the system recommends to use
    held: Callable[[Any, torch.device], int | None]  # what torch's tensors take of it
    unified: bool = False  # it is the host's memory too
    peak: str = ""  # the module's functions for the allocator's peak; "" where it keeps none
    reset: str = ""


def _taken(module: Any, device: torch.device) -> int:
    free, total = module.mem_get_info(device)
    return total - free


_OWN = Memory(
    _taken, lambda module, device: module.mem_get_info(device)[1],
    lambda module, device: module.memory_allocated(device),
    peak="max_memory_allocated", reset="reset_peak_memory_stats",
)  # fmt: skip
# Metal's allocator keeps no peak. Its pool only grows until it is emptied: what the driver counts after an inference is
# the most that was taken since.
_UNIFIED = Memory(
    lambda module, device: module.driver_allocated_memory(),
    lambda module, device: module.recommended_max_memory(),
    lambda module, device: module.current_allocated_memory(),
    unified=True,
)


def _free_and_all(module: Any, device: torch.device) -> tuple[int | None, int | None]:
    return plugins.quiet(module, "mem_get_info", device) or (None, None)


def _taken_if_told(module: Any, device: torch.device) -> int | None:
    free, total = _free_and_all(module, device)
    return None if free is None or total is None else total - free


# Packages of makers have what torch's own modules have, some of it: what one lacks is not known.
_TOLD = Memory(
    _taken_if_told, lambda module, device: _free_and_all(module, device)[1],
    lambda module, device: plugins.quiet(module, "memory_allocated", device),
    peak="max_memory_allocated", reset="reset_peak_memory_stats",
)  # fmt: skip


@dataclass(frozen=True)
class Kind:
    """A platform as torch sees it."""

    type: str  # torch's device type
    module: Callable[[], Any]  # torch.cuda, torch.mps, …
    build: Callable[[], bool]  # whether this torch was built for the platform
    wanted: str  # what to install when it was not
    memory: Memory | None = None
    events: bool = False  # whether its events keep time
    numbered: bool = True  # whether there can be several
    variables: tuple[str, ...] = ()  # of the environment: those that hide devices or change what runs on them
    inference: Callable[[], AbstractContextManager[Any]] = torch.inference_mode  # inside, no gradients are kept


def _plugin(kind: str, variables: tuple[str, ...], inference: Callable[[], Any] = torch.inference_mode) -> Kind:
    return Kind(
        kind, lambda: plugins.module(kind), lambda: plugins.installed(kind), plugins.wanted(kind), _TOLD,
        variables=variables, inference=inference,
    )  # fmt: skip


KINDS: dict[str, Kind] = {
    "cpu": Kind("cpu", lambda: None, lambda: True, "", numbered=False, variables=(instructions.VARIABLE,)),
    "cuda": Kind(
        "cuda", lambda: torch.cuda, lambda: torch.version.cuda is not None and torch.version.hip is None,
        "a CUDA build of torch", _OWN, events=True, variables=("CUDA_VISIBLE_DEVICES",),
    ),
    "rocm": Kind(
        "cuda", lambda: torch.cuda, lambda: torch.version.hip is not None, "a ROCm build of torch", _OWN, events=True,
        variables=(
            "HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES", "HSA_OVERRIDE_GFX_VERSION",
        ),
    ),
    "mps": Kind(
        "mps", lambda: torch.mps, lambda: torch.backends.mps.is_built(), "torch for macOS on Apple silicon", _UNIFIED,
        numbered=False, variables=("PYTORCH_ENABLE_MPS_FALLBACK", "PYTORCH_MPS_HIGH_WATERMARK_RATIO"),
    ),
    "xpu": Kind(
        "xpu", lambda: torch.xpu, lambda: getattr(torch.version, "xpu", None) is not None, "an XPU build of torch",
        _OWN, events=True, variables=("ZE_AFFINITY_MASK",),
    ),
    "hpu": _plugin("hpu", ("HABANA_VISIBLE_DEVICES", "HABANA_VISIBLE_MODULES", "PT_HPU_LAZY_MODE")),
    "npu": _plugin("npu", ("ASCEND_RT_VISIBLE_DEVICES", "ASCEND_VISIBLE_DEVICES")),
    # Its tensors have no counter of versions, which inference mode would set.
    "xla": _plugin("xla", ("PJRT_DEVICE", "TPU_VISIBLE_CHIPS", "XLA_FLAGS"), torch.no_grad),
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
        if not self.kind.numbered:
            return torch.device(self.kind.type)
        n, count = int(index) if index.isdigit() else 0, self.module.device_count()
        if n >= count:
            raise AbsentDevice(f"there is no {self.platform}:{n}: torch finds {count} device(s)")
        return torch.device(self.kind.type, n)

    def open(self) -> None:
        """Makes the device's context, so that its cost is not a model's, and notes what is in use before the model."""
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
        return self.kind.memory.used(self.module, self.torch) if self.kind.memory else None

    def room(self) -> dict[str, Any]:
        """How much memory there is for the device, and whether it is the host's own. Nothing on the CPU."""
        if self.kind.memory is None:
            return {}
        return {
            "device_memory_bytes": self.kind.memory.room(self.module, self.torch),
            "unified_memory": self.kind.memory.unified,
        }

    def variables(self, environ: Mapping[str, str] = os.environ) -> dict[str, str]:
        """The variables that are set and hide devices or change what runs on them."""
        return {name: environ[name] for name in self.kind.variables if name in environ}

    def held(self) -> int | None:
        """Bytes that torch's tensors take of the device; None on the CPU, and where nothing tells."""
        return self.kind.memory.held(self.module, self.torch) if self.kind.memory else None

    def reset_framework_peak(self) -> None:
        """Begins a new peak of torch's allocator."""
        if self.kind.memory and self.kind.memory.reset:
            plugins.quiet(self.module, self.kind.memory.reset, self.torch)

    def framework_peak(self) -> int | None:
        """The most bytes that torch's allocator has allocated since the reset."""
        if not self.kind.memory or not self.kind.memory.peak:
            return None
        return plugins.quiet(self.module, self.kind.memory.peak, self.torch)

    def empty_cache(self) -> None:
        """Gives back what torch's allocator keeps for later."""
        if not self.cpu:
            self.module.empty_cache()

    def inference(self) -> AbstractContextManager[Any]:
        """Inside, a model is run and nothing is kept for gradients."""
        return self.kind.inference()

    def event(self) -> Any | None:
        """A device event that keeps time, or None."""
        return self.module.Event(enable_timing=True) if self.kind.events else None


def exact_float32() -> dict[str, bool | str]:
    """Makes fp32 mean fp32 (no TF32, no bf16 inside products), and says what holds now."""
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cudnn.allow_tf32 = False
    torch.set_float32_matmul_precision("highest")
    return {"tf32": False, "float32_matmul_precision": torch.get_float32_matmul_precision()}

"""Devices that torch reaches by a plug-in: packages of their makers, which a user's environment may have.

Nothing here installs one, and nothing is imported before it is asked for. What a package brings is torch's module of
its device type; of XLA, which brings none, an object with the same methods.
"""

from __future__ import annotations

import importlib
import os
from importlib.util import find_spec
from typing import Any

import torch

from assay_runner.errors import AbsentDevice

PACKAGES = {"hpu": "habana_frameworks.torch", "npu": "torch_npu", "xla": "torch_xla"}


def installed(kind: str) -> bool:
    """Whether the package of a device type is there; it is not imported."""
    try:
        return find_spec(PACKAGES[kind].split(".")[0]) is not None
    except (ImportError, ValueError):
        return False


def wanted(kind: str) -> str:
    """What is missing where it is not there, in words."""
    return f"the package {PACKAGES[kind].split('.')[0]} beside torch"


def module(kind: str) -> Any:
    """Torch's module of a device type, its package imported."""
    name = PACKAGES[kind]
    try:
        importlib.import_module(name)
    except Exception as problem:  # whatever a maker's package raises, it does not bring its device
        raise AbsentDevice(f"{name} is installed and cannot be imported: {problem}") from problem
    if kind == "xla":
        return Xla()
    found = getattr(torch, kind, None)
    if found is None:
        raise AbsentDevice(
            f"{name} is imported, and torch has no torch.{kind}: its version is not for torch {torch.__version__}"
        )
    return found


class Xla:
    """torch_xla as torch's modules of devices are. Its tensors are promises: awaiting them is what computes them."""

    def __init__(self) -> None:
        self._model = importlib.import_module("torch_xla.core.xla_model")
        self._runtime = importlib.import_module("torch_xla.runtime")
        self._package = importlib.import_module("torch_xla")

    def is_available(self) -> bool:
        """Whether its runtime starts."""
        return self.device_count() > 0

    def device_count(self) -> int:
        """How many devices one process may use."""
        try:
            return int(self._runtime.addressable_device_count())
        except RuntimeError:
            return 0

    def software(self) -> bool:
        """Whether its device is the processor."""
        return self._runtime.device_type() in (None, "CPU")

    def get_device_name(self, device: Any = None) -> str:
        """What it runs on, as its runtime calls it."""
        return f"XLA on {os.environ.get('PJRT_DEVICE') or self._runtime.device_type()}"

    def synchronize(self, device: Any = None) -> None:
        """Computes what was asked for and waits until it is done."""
        self._package.sync()
        self._model.wait_device_ops()

    def empty_cache(self) -> None:
        """It keeps nothing that it could give back."""

    def _memory(self, device: Any) -> dict[str, int]:
        return self._model.get_memory_info(device)

    def memory_allocated(self, device: Any) -> int:
        """Bytes in use on the device."""
        return int(self._memory(device)["bytes_used"])

    def mem_get_info(self, device: Any) -> tuple[int, int]:
        """Bytes that are free, and all."""
        told = self._memory(device)
        return int(told["bytes_limit"]) - int(told["bytes_used"]), int(told["bytes_limit"])


def told(kind: str) -> dict[str, Any]:
    """What a probe says of a device type: its package's version, its devices, and why there are none."""
    answer: dict[str, Any] = {"package": PACKAGES[kind].split(".")[0], "software": False, "devices": [], "error": ""}
    try:
        found = module(kind)
        if not found.is_available():
            return answer | {"error": f"{answer['package']} is installed and finds no device"}
        answer["software"] = bool(getattr(found, "software", lambda: False)())
        answer["devices"] = [_device(found, torch.device(kind, i)) for i in range(found.device_count())]
    except Exception as problem:
        answer["error"] = str(problem).splitlines()[0][:300] if str(problem) else type(problem).__name__
    return answer


def _device(found: Any, device: torch.device) -> dict[str, Any]:
    return {
        "name": str(quiet(found, "get_device_name", device) or device.type),
        "memory_bytes": (quiet(found, "mem_get_info", device) or (None, None))[1],
    }


def quiet(found: Any, name: str, *args: Any) -> Any:
    """What a module's function gives; None where it has none, or the function itself has no answer."""
    try:
        return getattr(found, name, lambda *_: None)(*args)
    except (RuntimeError, NotImplementedError, KeyError, TypeError):
        return None

"""Asks NVIDIA's management library for the driver and its devices."""

from __future__ import annotations

import ctypes
from typing import Any

from assay_runner.machine import nvml


class Memory(ctypes.Structure):
    """nvmlMemory_t."""

    _fields_ = [("total", ctypes.c_ulonglong), ("free", ctypes.c_ulonglong), ("used", ctypes.c_ulonglong)]


def answer() -> dict[str, Any]:
    """Return driver, CUDA version and devices."""
    try:
        library = nvml.started()
    except nvml.NotStarted as why:
        return {"absent": f"the NVIDIA management library does not start: {why}"}
    if library is None:
        return {"absent": "the NVIDIA management library is not installed: there is no NVIDIA driver here"}
    try:
        return {
            "driver": nvml.text(library.nvmlSystemGetDriverVersion),
            "cuda": _cuda(library),
            "devices": _devices(library),
        }
    finally:
        library.nvmlShutdown()


def _cuda(library: ctypes.CDLL) -> str | None:
    version = nvml.number(library.nvmlSystemGetCudaDriverVersion_v2, ctypes.c_int())
    return None if version is None else f"{version // 1000}.{version % 1000 // 10}"


def _devices(library: ctypes.CDLL) -> list[dict[str, Any]]:
    count = nvml.number(library.nvmlDeviceGetCount_v2, ctypes.c_uint()) or 0
    return [device for index in range(count) if (device := _device(library, index)) is not None]


def _device(library: ctypes.CDLL, index: int) -> dict[str, Any] | None:
    handle = ctypes.c_void_p()
    if library.nvmlDeviceGetHandleByIndex_v2(ctypes.c_uint(index), ctypes.byref(handle)) != nvml.SUCCESS:
        return None
    memory = Memory()
    total = memory.total if library.nvmlDeviceGetMemoryInfo(handle, ctypes.byref(memory)) == nvml.SUCCESS else None
    major, minor = ctypes.c_int(), ctypes.c_int()
    known = library.nvmlDeviceGetCudaComputeCapability(handle, ctypes.byref(major), ctypes.byref(minor)) == nvml.SUCCESS
    return {
        "index": index,
        "name": nvml.text(library.nvmlDeviceGetName, handle),
        "uuid": nvml.text(library.nvmlDeviceGetUUID, handle),
        "memory_bytes": total,
        "capability": [major.value, minor.value] if known else None,
    }

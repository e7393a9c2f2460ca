"""Asks NVIDIA's management library, without torch and without any package: what the driver itself says."""

from __future__ import annotations

import ctypes
import sys
from typing import Any

# The library is a part of the driver: on Linux in the loader's path, on Windows in the system folder.
LIBRARIES: dict[str, list[str]] = {
    "linux": ["libnvidia-ml.so.1", "/usr/lib/wsl/lib/libnvidia-ml.so.1"],
    "win32": ["nvml.dll", r"C:\Program Files\NVIDIA Corporation\NVSMI\nvml.dll"],
}
NAME_SIZE = 96
SUCCESS = 0


class Memory(ctypes.Structure):
    """nvmlMemory_t."""

    _fields_ = [("total", ctypes.c_ulonglong), ("free", ctypes.c_ulonglong), ("used", ctypes.c_ulonglong)]


def answer() -> dict[str, Any]:
    """Return driver, CUDA version and devices."""
    library = _load()
    if library is None:
        return {"absent": "the NVIDIA management library is not installed: there is no NVIDIA driver here"}
    status = library.nvmlInit_v2()
    if status != SUCCESS:
        return {"absent": f"the NVIDIA management library does not start: {_message(library, status)}"}
    try:
        return {
            "driver": _text(library.nvmlSystemGetDriverVersion),
            "cuda": _cuda(library),
            "devices": _devices(library),
        }
    finally:
        library.nvmlShutdown()


def _load() -> ctypes.CDLL | None:
    for name in LIBRARIES.get(sys.platform, []):
        try:
            library = ctypes.CDLL(name)
        except OSError:
            continue
        library.nvmlErrorString.restype = ctypes.c_char_p
        return library
    return None


def _message(library: ctypes.CDLL, status: int) -> str:
    raw = library.nvmlErrorString(status)
    return raw.decode(errors="replace") if raw else f"status {status}"


def _text(call: Any, *first: Any) -> str | None:
    buffer = ctypes.create_string_buffer(NAME_SIZE)
    if call(*first, buffer, ctypes.c_uint(NAME_SIZE)) != SUCCESS:
        return None
    return buffer.value.decode(errors="replace")


def _cuda(library: ctypes.CDLL) -> str | None:
    number = ctypes.c_int()
    if library.nvmlSystemGetCudaDriverVersion_v2(ctypes.byref(number)) != SUCCESS:
        return None
    return f"{number.value // 1000}.{number.value % 1000 // 10}"


def _devices(library: ctypes.CDLL) -> list[dict[str, Any]]:
    count = ctypes.c_uint()
    if library.nvmlDeviceGetCount_v2(ctypes.byref(count)) != SUCCESS:
        return []
    return [device for index in range(count.value) if (device := _device(library, index)) is not None]


def _device(library: ctypes.CDLL, index: int) -> dict[str, Any] | None:
    handle = ctypes.c_void_p()
    if library.nvmlDeviceGetHandleByIndex_v2(ctypes.c_uint(index), ctypes.byref(handle)) != SUCCESS:
        return None
    memory = Memory()
    total = memory.total if library.nvmlDeviceGetMemoryInfo(handle, ctypes.byref(memory)) == SUCCESS else None
    major, minor = ctypes.c_int(), ctypes.c_int()
    known = library.nvmlDeviceGetCudaComputeCapability(handle, ctypes.byref(major), ctypes.byref(minor)) == SUCCESS
    return {
        "index": index,
        "name": _text(library.nvmlDeviceGetName, handle),
        "uuid": _text(library.nvmlDeviceGetUUID, handle),
        "memory_bytes": total,
        "capability": [major.value, minor.value] if known else None,
    }

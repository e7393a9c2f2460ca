"""NVIDIA's management library, without torch and without any package: what the driver itself says."""

from __future__ import annotations

import ctypes
import sys
from typing import Any

# The library is a part of the driver: on Linux in the loader's path, on Windows in the system folder.
LIBRARIES: dict[str, list[str]] = {
    "linux": ["libnvidia-ml.so.1", "/usr/lib/wsl/lib/libnvidia-ml.so.1"],
    "win32": ["nvml.dll", r"C:\Program Files\NVIDIA Corporation\NVSMI\nvml.dll"],
}
SUCCESS = 0
_TEXT_SIZE = 96


class NotStarted(Exception):
    """The library is there and does not start: no driver, or no permission."""


def started() -> ctypes.CDLL | None:
    """The library, ready to be asked; None where there is none."""
    library = _load()
    if library is None:
        return None
    status = library.nvmlInit_v2()
    if status != SUCCESS:
        raise NotStarted(_message(library, status))
    return library


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


def text(call: Any, *first: Any) -> str | None:
    """What a function writes into the text that it is given last; None where it does not."""
    buffer = ctypes.create_string_buffer(_TEXT_SIZE)
    if call(*first, buffer, ctypes.c_uint(_TEXT_SIZE)) != SUCCESS:
        return None
    return buffer.value.decode(errors="replace")


def number(call: Any, value: Any, *first: Any) -> int | None:
    """What a function writes into the number that it is given last; None where it does not."""
    return value.value if call(*first, ctypes.byref(value)) == SUCCESS else None

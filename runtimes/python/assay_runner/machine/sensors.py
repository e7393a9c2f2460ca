"""Clock, temperature, throttling and energy of an NVIDIA device, by the driver's own library.

The library is asked a few times a job, never while samples are taken. Every
reading is None where the driver, the library or the sensor is not there.
"""

from __future__ import annotations

import ctypes
from typing import Any

from . import nvml

_TEMPERATURE_GPU = 0
_CLOCK_SM = 1
# Slowed by heat (software, hardware), by the power brake, or by hardware protection; the power cap is the normal state
# of a busy device and an idle clock is not throttling.
_THROTTLED = 0x20 | 0x40 | 0x80 | 0x8


class Nvidia:
    """One device, by the UUID that torch gives."""

    def __init__(self, uuid: str) -> None:
        self._handle = ctypes.c_void_p()
        name = uuid if uuid.startswith(("GPU-", "MIG-")) else f"GPU-{uuid}"
        try:
            library = nvml.started()
        except nvml.NotStarted:
            library = None
        found = library and library.nvmlDeviceGetHandleByUUID(name.encode(), ctypes.byref(self._handle)) == nvml.SUCCESS
        self._library = library if found else None

    def _read(self, function: str, value: Any, *arguments: Any) -> int | None:
        call = getattr(self._library, function, None)
        return None if call is None else nvml.number(call, value, self._handle, *arguments)

    def temperature_c(self) -> int | None:
        """The chip's temperature."""
        return self._read("nvmlDeviceGetTemperature", ctypes.c_uint(), ctypes.c_int(_TEMPERATURE_GPU))

    def clock_mhz(self) -> int | None:
        """The clock of the multiprocessors now."""
        return self._read("nvmlDeviceGetClockInfo", ctypes.c_uint(), ctypes.c_int(_CLOCK_SM))

    def throttled(self) -> bool | None:
        """Whether the device is slowed by heat or lack of power now."""
        reasons = self._read("nvmlDeviceGetCurrentClocksThrottleReasons", ctypes.c_ulonglong())
        return None if reasons is None else bool(reasons & _THROTTLED)

    def energy_mj(self) -> int | None:
        """Millijoules used since the driver was loaded."""
        return self._read("nvmlDeviceGetTotalEnergyConsumption", ctypes.c_ulonglong())

    def driver(self) -> str | None:
        """The driver's version."""
        return None if self._library is None else nvml.text(self._library.nvmlSystemGetDriverVersion)

"""Asks OpenVINO for its version, its devices, their names and what they can compute in."""

from __future__ import annotations

from typing import Any


def answer() -> dict[str, Any]:
    """Return version and devices."""
    import openvino

    core = openvino.Core()
    return {
        "version": str(openvino.get_version()).split("-")[0],
        "build": str(openvino.get_version()),
        "devices": [_device(core, name) for name in core.available_devices],
    }


def _device(core: Any, name: str) -> dict[str, Any]:
    capabilities = _property(core, name, "OPTIMIZATION_CAPABILITIES") or []
    memory = _property(core, name, "GPU_DEVICE_TOTAL_MEM_SIZE") if name.startswith("GPU") else None
    return {
        "id": name,
        "name": str(_property(core, name, "FULL_DEVICE_NAME") or name).strip(),
        "capabilities": [str(c) for c in capabilities],
        "architecture": str(_property(core, name, "DEVICE_ARCHITECTURE") or ""),
        "memory_bytes": int(memory) if memory else None,
    }


def _property(core: Any, device: str, name: str) -> Any:
    """Return a property, None where the device does not have it."""
    try:
        return core.get_property(device, name)
    except Exception:
        return None

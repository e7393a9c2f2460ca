"""Asks ONNX Runtime for its providers, and whether Qualcomm's is there: with a device, or with the emulator only."""

from __future__ import annotations

import importlib.metadata
import platform
from pathlib import Path
from typing import Any

from . import reason

# Qualcomm's HTP library drives a device on ARM; on x86-64 Linux the same package carries its emulator.
ARM = ("aarch64", "arm64")


def answer() -> dict[str, Any]:
    """Return version, providers and what is known about QNN."""
    import onnxruntime

    return {
        "version": onnxruntime.__version__,
        "providers": list(onnxruntime.get_available_providers()),
        "qnn": _qnn(onnxruntime),
    }


def _qnn(onnxruntime: Any) -> dict[str, Any]:
    """Look for the plug-in package first, then for a provider that was built in."""
    emulator = platform.machine().lower() not in ARM
    try:
        import onnxruntime_qnn as package
    except ImportError as problem:
        if "QNNExecutionProvider" not in onnxruntime.get_available_providers():
            return {"absent": reason(problem)}
        return {"version": onnxruntime.__version__, "library": True, "emulator": emulator, "devices": []}
    try:
        onnxruntime.register_execution_provider_library("QNN", package.get_library_path())
        devices = [_title(d) for d in onnxruntime.get_ep_devices() if d.ep_name == "QNN"]
        library = Path(package.get_qnn_htp_path()).exists()
    except Exception as problem:
        return {"error": reason(problem)}
    version = importlib.metadata.version("onnxruntime-qnn")
    return {"version": version, "library": library, "emulator": emulator, "devices": devices}


def _title(device: Any) -> str:
    """Name an execution provider's device by the kind of hardware it stands for."""
    return str(getattr(device.device, "type", "")).split(".")[-1].lower()

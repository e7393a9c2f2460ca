"""Asks torch which devices it can really use: CUDA or ROCm behind one interface, MPS, XPU, and those of plug-ins."""

from __future__ import annotations

import warnings
from typing import Any

from assay_runner.machine import plugins

from . import reason


def answer() -> dict[str, Any]:
    """Return torch's version, what it was built for, and its devices."""
    import torch

    found: dict[str, Any] = {
        "version": str(torch.__version__),
        "cuda": torch.version.cuda or "",
        "hip": getattr(torch.version, "hip", None) or "",
        "cudnn": _cudnn(torch),
        "threads": torch.get_num_threads(),
        "cpu_capability": _quiet(torch.backends.cpu.get_cpu_capability),
        "mps": _mps(torch),
        "xpu": _xpu(torch),
        "plugins": {kind: plugins.told(kind) for kind in plugins.PACKAGES if plugins.installed(kind)},
    }
    found["devices"], found["cuda_error"] = _cuda(torch)
    return found


def _quiet(call: Any, *args: Any) -> Any:
    """Return what a call gives, None when it fails: older builds lack some calls."""
    try:
        return call(*args)
    except Exception:
        return None


def _cudnn(torch: Any) -> str:
    """Return cuDNN's version as people write it; it comes as 8907 or 90100, MIOpen's likewise."""
    number = _quiet(torch.backends.cudnn.version)
    if not number:
        return ""
    if number >= 90000:
        return f"{number // 10000}.{number // 100 % 100}.{number % 100}"
    return f"{number // 1000}.{number // 100 % 10}.{number % 100}"


def _cuda(torch: Any) -> tuple[list[dict[str, Any]], str]:
    """Return the devices of CUDA or ROCm, and why there are none."""
    if not torch.version.cuda and not getattr(torch.version, "hip", None):
        return [], ""
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        try:
            if not torch.cuda.is_available():
                torch.cuda.init()
            return [_device(torch, index) for index in range(torch.cuda.device_count())], ""
        except Exception as problem:
            told = [str(w.message).splitlines()[0] for w in warned]
            return [], told[-1][:300] if told else reason(problem)


def _device(torch: Any, index: int) -> dict[str, Any]:
    properties = torch.cuda.get_device_properties(index)
    found = {
        "index": index,
        "name": properties.name,
        "memory_bytes": int(properties.total_memory),
        "capability": list(torch.cuda.get_device_capability(index)),
        "arch": str(getattr(properties, "gcnArchName", "") or "").split(":")[0],
        "bf16": _bf16(torch, index),
        "half": None,
        "half_error": "",
    }
    if getattr(torch.version, "hip", None):
        found["half"], found["half_error"] = _half(torch, index)
    return found


def _bf16(torch: Any, index: int) -> bool | None:
    def supported() -> bool:
        with torch.cuda.device(index):
            return bool(torch.cuda.is_bf16_supported(including_emulation=False))

    return _quiet(supported)


def _half(torch: Any, index: int) -> tuple[bool, str]:
    """Multiply two small matrices in half precision on the device and compare with the CPU in single."""
    try:
        a = torch.linspace(-1, 1, 64 * 64).reshape(64, 64)
        b = a.t().contiguous() * 0.5
        got = (a.half().to(f"cuda:{index}") @ b.half().to(f"cuda:{index}")).float().cpu()
        wanted = a @ b
        error = ((got - wanted).abs().max() / wanted.abs().max()).item()
    except Exception as problem:
        return False, reason(problem)
    if not error < 1e-2:
        return False, f"a product was off by {error:.2g} of its largest value"
    return True, ""


def _mps(torch: Any) -> dict[str, Any]:
    backend = getattr(torch.backends, "mps", None)
    if backend is None:
        return {"built": False, "available": False, "recommended_max_bytes": None}
    available = bool(_quiet(backend.is_available))
    limit = _quiet(torch.mps.recommended_max_memory) if available else None
    return {
        "built": bool(_quiet(backend.is_built)),
        "available": available,
        "recommended_max_bytes": int(limit) if limit else None,
    }


def _xpu(torch: Any) -> list[dict[str, Any]]:
    module = getattr(torch, "xpu", None)
    if module is None or not _quiet(module.is_available):
        return []
    devices = []
    for index in range(module.device_count()):
        properties = module.get_device_properties(index)
        devices.append({"name": properties.name, "memory_bytes": int(properties.total_memory)})
    return devices

"""Qualcomm's provider for ONNX Runtime: where its libraries are, and what it is told.

On x86-64 the package carries the HTP library with Qualcomm's emulator, which computes what the device computes; on ARM
the same package drives the device. Older builds of ONNX Runtime have the provider built in.
"""

from __future__ import annotations

import platform
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import onnxruntime as ort

from assay_runner.engines.contract import Asked
from assay_runner.errors import LibraryAbsent, UnsupportedDType

from .socs import SoC, default, find

BUILT_IN = "QNNExecutionProvider"
PLUGGED = "QNN"
HOST = "CPUExecutionProvider"
_ARM = ("aarch64", "arm64")
_INSTALL = "install onnxruntime-qnn, or name a Python that has it with --python"
_FP32 = (
    "the HTP computes in fp16 and in integers, not in fp32: ask for fp16, which needs no calibration, or for int8 "
    "or a16w8"
)
_NO_FP16 = "the HTP v{htp} of {id} has no fp16: ask for int8 or a16w8"


@dataclass(frozen=True)
class Provider:
    """The provider, ready to be given to a session."""

    version: str
    soc: SoC | None  # None: the device that is here, which the provider knows best
    emulated: bool
    devices: tuple[Any, ...]  # of the plug-in; none where the provider is built in
    options: Mapping[str, str]

    def session(self, graph: Path | bytes, options: ort.SessionOptions) -> ort.InferenceSession:
        """A session that offers the graph, a file or its content, to the provider first."""
        if self.devices:
            options.add_provider_for_devices(list(self.devices), dict(self.options))
            return ort.InferenceSession(graph, sess_options=options)
        return ort.InferenceSession(graph, sess_options=options, providers=[(BUILT_IN, dict(self.options)), HOST])

    @property
    def device(self) -> str:
        """How the device is called in a placement."""
        return self.soc.id if self.soc else "htp"

    @property
    def names(self) -> frozenset[str]:
        """How ONNX Runtime calls it."""
        return frozenset({PLUGGED, BUILT_IN})


def provider(asked: Asked) -> Provider:
    """The provider for what the cell asks."""
    emulated = platform.machine().lower() not in _ARM
    soc = find(asked.device) if asked.device else (default() if emulated else None)
    _check_dtype(asked.dtype, soc)
    library, plugged, number = _libraries()
    if not library.exists() and library.is_absolute():
        raise LibraryAbsent(f"{library.name}, Qualcomm's HTP library, is not beside the provider: {_INSTALL}")
    return Provider(number, soc, emulated, plugged, provider_options(library, soc, emulated))


def provider_options(library: Path, soc: SoC | None, emulated: bool) -> dict[str, str]:
    """What the provider is told. Without both numbers of the system the emulator cannot finish a graph."""
    options = {"backend_path": str(library), "enable_htp_fp16_precision": "1", "offload_graph_io_quantization": "0"}
    if soc is not None:
        options |= {"soc_model": str(soc.model), "htp_arch": str(soc.htp)}
    if not emulated:
        options["htp_performance_mode"] = "burst"  # what is timed is the device at work, not its power saving
    return options


def library_name(system: str) -> str:
    """The file of the HTP library."""
    return "QnnHtp.dll" if system == "win32" else "libQnnHtp.so"


def _check_dtype(dtype: str, soc: SoC | None) -> None:
    if dtype == "fp32":
        raise UnsupportedDType(_FP32)
    if dtype == "fp16" and soc is not None and not soc.fp16:
        raise UnsupportedDType(_NO_FP16.format(htp=soc.htp, id=soc.id))


def _libraries() -> tuple[Path, tuple[Any, ...], str]:
    """The HTP library, the plug-in's devices and the provider's version."""
    try:
        import onnxruntime_qnn as package
    except ImportError as error:
        if BUILT_IN in ort.get_available_providers():
            return Path(library_name(sys.platform)), (), ort.__version__  # found as the system finds libraries
        raise LibraryAbsent(f"Qualcomm's provider for ONNX Runtime is not installed: {_INSTALL}") from error
    library = Path(package.get_qnn_htp_path())
    if not library.exists():
        return library, (), ""
    return library, (_registered(package),), _version()


def _registered(package: Any) -> Any:
    """The plug-in's device: the NPU, or the host's CPU under the emulator."""
    if not _devices():
        ort.register_execution_provider_library(PLUGGED, package.get_library_path())
    found = _devices()
    if not found:
        raise LibraryAbsent(f"the provider in {Path(package.get_library_path()).name} offers no device: {_INSTALL}")
    return next((d for d in found if d.device.type == ort.OrtHardwareDeviceType.NPU), found[0])


def _devices() -> list[Any]:
    return [device for device in ort.get_ep_devices() if device.ep_name == PLUGGED]


def _version() -> str:
    try:
        return version("onnxruntime-qnn")
    except PackageNotFoundError:
        return ort.__version__

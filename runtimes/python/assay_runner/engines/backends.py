"""The engines that run exported graphs: the one table of them. Importing it imports no engine."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .contract import Backend

BACKENDS = {
    "onnxruntime": "engines.onnxruntime.backend.OnnxRuntime",
    "openvino": "engines.openvino.backend.OpenVINO",
    "qnn": "engines.qnn.backend.QNN",
    "coreml": "engines.coreml.backend.CoreML",
    "ort-web": "engines.web.backend.Web",
    "wasm": "engines.web.backend.Web",
}
"""The cell's engine → module and class of this package. A child accepts the jobs of these, of torch and of no-ops."""


def backend(engine: str) -> type[Backend]:
    """The class of an engine, imported now."""
    module, _, name = BACKENDS[engine].rpartition(".")
    return getattr(importlib.import_module(f"assay_runner.{module}"), name)

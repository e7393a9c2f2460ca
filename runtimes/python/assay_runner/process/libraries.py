"""What is installed here, and importing the heavy part of it once, before any child is forked."""

from __future__ import annotations

import gc
import importlib
import json
import os
import platform
import sys
from typing import Any

from assay_runner import PROTOCOL

from . import private

QUIET = {
    # OpenBLAS starts its threads when numpy is imported; the zygote must have none.
    "OPENBLAS_NUM_THREADS": "1",
    # Asking for a GPU at import must not create a CUDA context that no forked child could use.
    "PYTORCH_NVML_BASED_CUDA_CHECK": "1",
    # The tokenizers library otherwise warns of every fork.
    "TOKENIZERS_PARALLELISM": "false",
}
"""What must stand in the environment before the first import. What the user set stays."""

IMPORTED = ("torch", "transformers")
"""The libraries that every model needs."""

DISTRIBUTIONS = (
    "torch",
    "transformers",
    "numpy",
    "tokenizers",
    "safetensors",
    "huggingface-hub",
    "timm",
    "diffusers",
    "onnxruntime",
    "onnxruntime-qnn",
    "openvino",
    "nncf",
    "onnx",
    "onnxscript",
    "coremltools",
)
"""What `version` looks for, by the name it is installed under."""

_MOST_REASON = 500
_PREIMPORTING = "assay_runner.engines.preimporting"  # by name: what it imports lies above this folder


def import_all() -> tuple[dict[str, str], dict[str, str]]:
    """Import the heavy libraries. Returns the versions found and, for what is missing, the reason."""
    versions, missing = {}, {}
    for name in IMPORTED:
        try:
            versions[name] = str(importlib.import_module(name).__version__)
        except Exception as error:  # a broken library raises anything: OSError, RuntimeError, AttributeError
            missing[name] = reason(error)
    if not missing:
        _warm_up(missing)
    found = installed()
    if "timm" not in found:
        missing["timm"] = "No module named 'timm'"
    return found | versions, missing


def _warm_up(missing: dict[str, str]) -> None:
    """Import what the libraries import late and every child would import again."""
    try:
        missing |= importlib.import_module(_PREIMPORTING).preimport()
    except Exception as error:
        missing[_PREIMPORTING] = reason(error)


def settle() -> None:
    """Put all that is imported out of the collector's sight, so that children do not copy it page by page."""
    gc.collect()
    gc.disable()
    gc.freeze()


def quieten() -> None:
    """Set what must stand in the environment before the first import."""
    for name, value in QUIET.items():
        os.environ.setdefault(name, value)


def reason(error: BaseException) -> str:
    """Why an import failed, in a line."""
    text = str(error).strip() or type(error).__name__
    if not isinstance(error, ImportError):
        text = f"{type(error).__name__}: {text}"
    return text if len(text) <= _MOST_REASON else text[:_MOST_REASON] + "…"


def installed() -> dict[str, str]:
    """The versions of what is installed, without importing any of it."""
    from importlib import metadata  # takes 20 ms, which a bare runner does not have to spend

    versions = {"python": platform.python_version()}
    for name in DISTRIBUTIONS:
        try:
            versions[name] = metadata.version(name)
        except Exception:  # absent, or its metadata cannot be read: either way it is not known to be there
            continue
    return versions


def describe() -> dict[str, Any]:
    """What `python -m assay_runner version` prints: enough to judge somebody's own environment."""
    versions = installed()
    return {
        "protocol": PROTOCOL,
        "executable": sys.executable,
        "prefix": sys.prefix,
        "versions": versions,
        "missing": [name for name in DISTRIBUTIONS if name not in versions],
        "private": private.missing(),
    }


def main(_argv: list[str]) -> None:
    """Print the description as JSON."""
    print(json.dumps(describe(), indent=1))

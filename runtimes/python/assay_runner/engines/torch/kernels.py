"""Which kernels ran where a model has a choice: its own reference in torch, or a package's fast ones.

State-space and linear-attention models look for packages (mamba_ssm, causal_conv1d, fla) when their module is
imported, and fall back to torch. Newer releases of transformers wrap each such function and resolve it once; those
that are called while a model runs are noted. Older ones keep the package's function, or None, under a known name in
the modelling module: there the module has but one path, and what was resolved is what ran.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from importlib import metadata
from types import ModuleType
from typing import Any

import torch

from assay_runner.subjects.replacing import replaced

REFERENCE = "reference"
_DISTRIBUTIONS = {"fla": "flash-linear-attention", "mamba_ssm": "mamba-ssm", "causal_conv1d": "causal-conv1d"}
# Names under which modelling modules of older releases keep a package's function, or None.
_RESOLVED = (
    "causal_conv1d_fn", "causal_conv1d_update", "mamba_inner_fn", "selective_scan_fn", "selective_state_update",
    "mamba_chunk_scan_combined", "mamba_split_conv1d_scan_combined", "chunk_gated_delta_rule",
    "fused_recurrent_gated_delta_rule",
)  # fmt: skip


@contextmanager
def watching(model: torch.nn.Module) -> Iterator[dict[str, str]]:
    """Inside, kernels that run are noted by name: `reference`, or `fast:` with the package and its version."""
    seen: dict[str, str] = {}
    with ExitStack() as stack:
        for module in _modelling(model):
            for name, value in list(vars(module).items()):
                if (choice := _chosen(value)) is not None:
                    noted = _noted(value, seen, *choice)
                    stack.enter_context(replaced(module, name, lambda own, noted=noted: noted))
                elif name in _RESOLVED and (value is None or _package(value) in _DISTRIBUTIONS):
                    seen[name] = REFERENCE if value is None else _fast(_package(value))
        yield seen


def _modelling(model: torch.nn.Module) -> list[ModuleType]:
    names = dict.fromkeys(type(part).__module__ for part in model.modules())
    return [sys.modules[name] for name in names if name.startswith("transformers.models.")]


def _chosen(function: Any) -> tuple[str, str] | None:
    """(kernel, what it resolved to) of a function that transformers wrapped; None for any other value."""
    code, cells = getattr(function, "__code__", None), getattr(function, "__closure__", None)
    if code is None or not cells:
        return None
    try:
        held = dict(zip(code.co_freevars, (cell.cell_contents for cell in cells), strict=True))
    except ValueError:  # a name that is not bound yet: not what transformers wrapped
        return None
    if "is_new_implementation" not in held:
        return None
    return held["func_name"], _fast(held["package"]) if held["is_new_implementation"] else REFERENCE


def _noted(function: Callable[..., Any], seen: dict[str, str], kernel: str, what: str) -> Callable[..., Any]:
    @functools.wraps(function)
    def noted(*args: Any, **kwargs: Any) -> Any:
        seen[kernel] = what
        return function(*args, **kwargs)

    return noted


def _package(function: Any) -> str:
    return str(getattr(function, "__module__", "")).partition(".")[0]


def _fast(package: str) -> str:
    try:
        return f"fast:{package} {metadata.version(_DISTRIBUTIONS.get(package, package))}"
    except metadata.PackageNotFoundError:
        return f"fast:{package}"

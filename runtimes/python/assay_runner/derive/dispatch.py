"""Torch's own dispatch table: for each operator, the devices that have a kernel of it.

Torch is generated from a list of its functions, native_functions.yaml, which every
installation carries in `torchgen` together with the code that reads it. An entry names
the kernels by dispatch key; a structured function borrows those of its out-variant,
and what is composed of other functions needs no kernel of its own. The list is the
same for every build of a release: a build for Linux knows what the one for macOS has.

Reading takes a second, so the result is kept as a small file, named by the release.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

SCHEMA = 1
KEYS = ("CPU", "CUDA", "MPS")
COMPOSED = "*"
"""Stands for every key: the function is made of others, or makes no difference between devices."""


@dataclass(frozen=True)
class Table:
    """The functions of a release of torch and the dispatch keys that have a kernel of each."""

    torch: str
    operators: Mapping[str, tuple[str, ...]]  # aten.addmm.default → its keys, or COMPOSED alone

    def has(self, operator: str, key: str) -> bool | None:
        """Whether a key has a kernel; None for an operator that is not torch's own."""
        keys = self.operators.get(operator)
        return None if keys is None else keys == (COMPOSED,) or key in keys

    def lacking(self, title: str) -> str:
        """What an operator without a kernel has against it."""
        return f"torch {self.torch} has no kernel for it on {title}"


def table(folder: str = "") -> Table:
    """The installed torch's table; kept in the folder, where one is given."""
    file = Path(folder) / f"dispatch-{SCHEMA}-{torch.__version__}.json" if folder else None
    known = _kept(file) if file else None
    if known is not None:
        return known
    made = Table(str(torch.__version__), _read())
    if file:
        with suppress(OSError):  # what cannot be kept is read again
            _keep(file, made)
    return made


def _read() -> dict[str, tuple[str, ...]]:
    import torchgen
    from torchgen.gen import parse_native_yaml
    from torchgen.model import DispatchKey

    folder = Path(torchgen.__file__).parent / "packaged" / "ATen" / "native"
    parsed = parse_native_yaml(str(folder / "native_functions.yaml"), str(folder / "tags.yaml"))
    kernels = {key: parsed.backend_indices[DispatchKey[key]].index for key in KEYS}
    return {_name(f): _keys(f, kernels) for f in parsed.native_functions}


def _name(function: Any) -> str:
    name = function.func.name
    return f"aten.{name.name}.{name.overload_name or 'default'}"


_COMPOSITES = (
    "has_composite_implicit_autograd_kernel",
    "has_composite_explicit_autograd_kernel",
    "has_composite_explicit_autograd_non_functional_kernel",
)


def _keys(function: Any, kernels: Mapping[str, Mapping[Any, Any]]) -> tuple[str, ...]:
    if any(getattr(function, name) for name in _COMPOSITES):
        return (COMPOSED,)
    owner = function.structured_delegate or function.func.name
    return tuple(key for key, index in kernels.items() if owner in index)


def _kept(file: Path) -> Table | None:
    """The table in a file; None where there is none, or none that reads."""
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
        operators = {name: tuple(keys) for name, keys in found["operators"].items()}
    except (OSError, ValueError, KeyError, AttributeError, TypeError):
        return None
    return Table(found["torch"], operators) if found.get("torch") == torch.__version__ and operators else None


def _keep(file: Path, made: Table) -> None:
    """Writes beside and renames: another child may read, or write the same."""
    file.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=file.parent, prefix=file.name)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as out:
            json.dump({"schema": SCHEMA, "torch": made.torch, "operators": made.operators}, out)
        Path(name).replace(file)
    except BaseException:
        Path(name).unlink()
        raise

"""Where a forward pass really ran: seen, not assumed."""

from __future__ import annotations

import os
import re
import warnings
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import torch

from assay_runner.subjects.dispatching import Mode
from assay_runner.subjects.outputs import Tensors


class Census(Mode):
    """Counts operations by the device of their result. Views and numbers on the CPU are not work and do not count."""

    def __init__(self) -> None:
        super().__init__()
        self.nodes: Counter[str] = Counter()

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        out = func(*args, **(kwargs or {}))
        first = out[0] if isinstance(out, (tuple, list)) and out else out
        if (
            isinstance(first, torch.Tensor)
            and not getattr(func, "is_view", False)
            and (first.device.type != "cpu" or first.dim() > 0)
        ):
            self.nodes[str(first.device)] += 1
        return out


def seen(model: torch.nn.Module, outputs: Tensors) -> str:
    """The devices that hold parameters and outputs."""
    devices = {str(t.device) for t in (*model.parameters(), *outputs.values())}
    return ",".join(sorted(devices))


_FELL_BACK = re.compile(r"The operator '([^']+)' is not currently supported on the MPS backend")
ALLOWED = "PYTORCH_ENABLE_MPS_FALLBACK"


@contextmanager
def fallbacks(environ: Mapping[str, str] = os.environ) -> Iterator[list[dict[str, Any]]]:
    """Inside, operators that torch takes from the GPU and runs on the CPU are noticed; the list has them afterwards.

    Their results lie on the GPU again, so that only torch's own warning tells. It comes once in a process, unless all
    warnings are asked for.
    """
    found: list[dict[str, Any]] = []
    always = torch.is_warn_always_enabled()
    torch.set_warn_always(True)
    try:
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            yield found
    finally:
        torch.set_warn_always(always)
    names = Counter(m[1] for w in warned if (m := _FELL_BACK.search(str(w.message))))
    set_by = environ.get(ALLOWED)
    why = (
        f"{ALLOWED}={set_by}"
        if set_by not in (None, "", "0")
        else "torch has no kernel for it and falls back by itself"
    )
    found += [{"operator": name, "count": n, "where": "cpu", "why": why} for name, n in names.most_common()]

"""Where a forward pass really ran: seen, not assumed."""

from __future__ import annotations

from collections import Counter
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from assay_runner.outputs import Tensors


class Census(TorchDispatchMode):
    """Counts operations by the device of their result. Views and numbers on the CPU are no work and do not count."""

    def __init__(self) -> None:
        super().__init__()
        self.nodes: Counter[str] = Counter()

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        return False  # else the first operation imports the compiler, which takes seconds; nothing is compiled here

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

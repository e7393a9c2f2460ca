"""Bytes that operators read and write, as if no cache were there.

Each operator reads its tensors once and writes its result once; views move nothing.
What is broadcast is read once; of a table that is looked things up in, only the rows
that were asked for are read.
"""

from __future__ import annotations

import math
from typing import Any

import torch

from .trace import Call

aten = torch.ops.aten

# Operators that read only as much of their first tensor, the table, as they give back, and where that argument is.
_LOOKUPS = {aten.embedding: 0, aten.index: 0, aten.index_select: 0, aten.gather: 0}


class Traffic:
    """Adds bytes up."""

    def __init__(self) -> None:
        self.read = 0
        self.written = 0

    def see(self, call: Call) -> None:
        """Adds one call."""
        if call.view:
            return
        given = sum(size(t) for t in call.outputs)
        table = _LOOKUPS.get(call.operator._overloadpacket)
        for tensor in call.inputs:
            is_table = table is not None and tensor is call.args[table]
            self.read += min(size(tensor), given) if is_table else size(tensor)
        self.written += sum(map(size, call.into)) if call.into else given

    def report(self) -> dict[str, Any]:
        """Both sums."""
        return {"read": self.read, "written": self.written}


def size(tensor: torch.Tensor) -> int:
    """The bytes that a tensor's elements take, an axis that repeats one element counted once."""
    steps = zip(tensor.shape, tensor.stride(), strict=True)
    return tensor.itemsize * math.prod(n if step or n == 0 else 1 for n, step in steps)

"""Questions that only save work.

`if mask.any(): states[mask] = value` writes nothing where the mask is empty, so the question need not be asked: in a
trace the answer is yes, and the graph is right for every mask. A question is such a one by its code: it asks a name for
`any()`, all that follows is writing under the mask of that name, and there is nothing else to do. What is written, one
row for all places, is laid over the tensor by the mask: how many places there are is then no question either.
"""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from assay_runner.exporting.following import known, line

_ASK, _WRITE = torch.Tensor.__bool__, torch.Tensor.__setitem__


class Passed(TorchFunctionMode):
    """Inside, such questions about traced masks are answered, and rows are written under traced masks."""

    def __torch_function__(self, func: Any, types: Any, args: tuple = (), kwargs: dict | None = None) -> Any:
        if func is _ASK and not known(args[0]) and _saves_work(*line()):
            return True
        if func is _WRITE and _one_row(*args):
            tensor, mask, row = args
            return tensor.copy_(
                torch.where(mask.reshape(*mask.shape, *(1,) * (tensor.dim() - mask.dim())), row, tensor)
            )
        return func(*args, **(kwargs or {}))


def _one_row(tensor: torch.Tensor, index: Any, value: Any) -> bool:
    """Whether all places of a traced mask get the same row."""
    masks = isinstance(index, torch.Tensor) and index.dtype is torch.bool and index.dim() > 0 and not known(index)
    return masks and isinstance(value, torch.Tensor) and 0 < value.dim() <= tensor.dim() - index.dim()


def _saves_work(file: str, number: int) -> bool:
    return number in _questions(file)


@cache
def _questions(file: str) -> frozenset[int]:
    """The lines of a file that ask such questions."""
    try:
        tree = ast.parse(Path(file).read_text())
    except (OSError, SyntaxError, ValueError):
        return frozenset()
    found = (node for node in ast.walk(tree) if isinstance(node, ast.If) and _only_writes(node))
    return frozenset(number for node in found for number in range(node.test.lineno, node.test.end_lineno + 1))


def _only_writes(node: ast.If) -> bool:
    match node.test:
        case ast.Call(func=ast.Attribute(value=ast.Name(id=mask), attr="any"), args=[], keywords=[]):
            return not node.orelse and all(_writes(statement, mask) for statement in node.body)
    return False


def _writes(statement: ast.stmt, mask: str) -> bool:
    match statement:
        case ast.Assign(targets=[ast.Subscript(value=ast.Name(id=written), slice=ast.Name(id=own))]):
            return own == mask != written
    return False

"""Makes a program of torch.export fit for coremltools, and names what it cannot convert.

coremltools knows operators by name. What it does not know is taken apart where torch, or the table here, can write it
with operators that it does; what checks or renames only is taken out. What remains is all that stands between a
model and Core ML: coremltools itself would name only the first of them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

import torch
from coremltools.converters.mil.frontend.torch.torch_op_registry import _TORCH_OPS_REGISTRY
from coremltools.converters.mil.frontend.torch.utils import sanitize_op_kind
from torch._decomp import get_decompositions
from torch.export import ExportedProgram
from torch.fx import Node

from assay_runner.workarounds import Fault

FAULT = Fault("coremltools_lacks_operators", "coremltools", ("9.0",), "operators of torch's own have no conversion")

aten, prims = torch.ops.aten, torch.ops.prims
_ROUNDS = 3  # taking one operator apart may show another

_IDLE = frozenset({aten.alias.default, aten.detach.default, aten.lift_fresh_copy.default, prims.view_of.default})
"""Operators that give their first argument."""

_CHECKS = frozenset(
    {
        aten._assert_async.msg,
        aten._assert_scalar.default,
        aten._assert_tensor_metadata.default,
        aten.sym_constrain_range.default,
        aten.sym_constrain_range_for_size.default,
    }
)
"""Operators that compute nothing: they stop a run whose numbers are not as the trace assumed."""


def _filled(condition: torch.Tensor, number: Any, like: torch.Tensor) -> torch.Tensor:
    return torch.full_like(condition, number, dtype=like.dtype)


def _scattered(target: torch.Tensor, mask: torch.Tensor, source: torch.Tensor) -> torch.Tensor:
    """Each place that the mask chooses takes the next element of the source: the running count says which."""
    wide = mask.expand(target.shape).reshape(-1)
    chosen = wide.to(torch.int32)
    place = (torch.cumsum(chosen, 0, dtype=torch.int32) - 1) * chosen
    taken = source.reshape(-1).index_select(0, place)
    return torch.where(wide, taken, target.reshape(-1)).reshape(target.shape)


_WRITTEN_OUT: Mapping[Any, Callable[..., torch.Tensor]] = {
    aten.where.ScalarOther: lambda c, x, number: torch.where(c, x, _filled(c, number, x)),
    aten.__and__.Tensor: torch.bitwise_and,
    aten.__or__.Tensor: torch.bitwise_or,
    aten.masked_scatter.default: _scattered,
}
"""Operators in terms of others; torch has no way of its own to take these apart, or one into what Core ML lacks."""


def friendly(program: ExportedProgram) -> ExportedProgram:
    """The program in operators that coremltools knows, as far as that goes."""
    program = program.run_decompositions({})
    for _ in range(_ROUNDS):
        _cleared(program)
        strange = {node.target for node in _strange(program)}
        own = {target: how for target, how in _WRITTEN_OUT.items() if target in strange}
        rest = [target for target in strange if isinstance(target, torch._ops.OpOverload) and target not in own]
        table = {**get_decompositions(rest), **own}
        if not table:
            break
        program = program.run_decompositions(table)
    _cleared(program)
    return program


def unknown(program: ExportedProgram) -> dict[str, int]:
    """Operators that coremltools does not know, with their counts, the most frequent first."""
    return dict(Counter(_kind(node) for node in _strange(program)).most_common())


def _strange(program: ExportedProgram) -> list[Node]:
    calls = [node for node in program.graph.nodes if node.op == "call_function"]
    return [node for node in calls if sanitize_op_kind(_kind(node)) not in _TORCH_OPS_REGISTRY]


def _kind(node: Node) -> str:
    """An operator's name as coremltools reads it."""
    target = node.target
    return target.name() if isinstance(target, torch._ops.OpOverload) else getattr(target, "__name__", str(target))


def _cleared(program: ExportedProgram) -> None:
    """Takes out what computes nothing."""
    graph = program.graph
    for node in reversed(list(graph.nodes)):
        if node.op != "call_function":
            continue
        if node.target in _IDLE:
            node.replace_all_uses_with(node.args[0])
            graph.erase_node(node)
        elif node.target in _CHECKS or not node.users:
            graph.erase_node(node)

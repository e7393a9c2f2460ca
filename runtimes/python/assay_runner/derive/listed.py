"""What engines of exported graphs take: their own lists of operators, in place of torch's list of kernels.

Neither engine lists the models it runs, but both come with a list of torch's operators. ONNX Runtime runs what the
exporter of torch can write: the exporter's registry. OpenVINO has the list by which its part of torch.compile decides
what it takes over. An operator that is taken apart into others before it is looked up needs no entry of its own, and
one that writes into its input is written as the one that does not.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch


@dataclass(frozen=True)
class Listed:
    """The operators of an engine's list, and those that are taken apart first."""

    source: str
    operators: frozenset[str]  # aten.addmm.default
    apart: frozenset[str]

    def has(self, operator: str, _key: str) -> bool | None:
        """Whether the engine takes an operator; None for one that is not torch's own."""
        listed = any(name in self.operators or name in self.apart for name in _written(operator))
        return True if listed else False if operator.startswith("aten.") else None

    def lacking(self, _title: str) -> str:
        """What an operator that is not listed has against it."""
        return f"{self.source} has no entry for it"


def _written(operator: str) -> tuple[str, ...]:
    """The operator, and the one that it is written as where it changes its input."""
    space, name, overload = operator.split(".")
    return (operator, f"{space}.{name.removesuffix('_')}.{overload}") if name.endswith("_") else (operator,)


def _onnx() -> frozenset[str]:
    from torch.onnx._internal.exporter._registration import ONNXRegistry

    named = (_name(target) for target in ONNXRegistry.from_torchlib().functions if not callable(target) or _op(target))
    return frozenset(named)


def _openvino() -> frozenset[str]:
    from openvino.frontend.pytorch.torchdynamo.op_support import OperatorSupport

    return frozenset(str(name).removeprefix("torch.ops.") for name in OperatorSupport({})._support_dict)


def _op(target: Any) -> bool:
    return isinstance(target, torch._ops.OpOverload)


def _name(target: Any) -> str:
    """aten::add.Tensor, or the operator itself → aten.add.Tensor."""
    space, _, name = (target.name() if _op(target) else str(target)).partition("::")
    return f"{space}.{name}" if "." in name else f"{space}.{name}.default"


_NOTHING = frozenset(
    {
        "aten.lift_fresh.default",  # a constant of a trace
        "aten.lift_fresh_copy.default",
        "aten._is_all_true.default",  # of assertions, which exporters leave out
        "aten._assert_async.msg",
    }
)
"""Operators of a trace for which a graph has no node."""

LISTS: dict[str, tuple[str, Callable[[], frozenset[str]]]] = {
    "onnxruntime": ("the exporter of torch", _onnx),
    "openvino": ("OpenVINO's list for torch.compile", _openvino),
}
"""Engine → whose list it is, and what reads it."""


def table(engine: str) -> Listed:
    """The list of an engine."""
    source, read = LISTS[engine]
    apart = {str(op) for op in torch.export.default_decompositions()}
    return Listed(source, read(), frozenset(apart) | _NOTHING)

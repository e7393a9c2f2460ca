"""What onnxscript does to a graph inside torch.onnx.export, without what costs far more than it gives.

Of its some forty rewriting rules those that look for several outputs at once go through the whole graph for each node:
for a graph of six thousand nodes that is nearly all of the time that the export takes. The operators that the exporter
can write are read again out of their source code for each export, and are always the same.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from assay_runner.subjects.replacing import replaced
from assay_runner.workarounds import Fault

_ONNXSCRIPT, _SEEN = "onnxscript", ("0.7.2",)
FAULTS = (
    Fault("onnxscript_matches_in_square_time", _ONNXSCRIPT, _SEEN, "rules of several outputs see every node for each"),
    Fault("onnxscript_reads_operators_each_time", _ONNXSCRIPT, _SEEN, "operators are read from their source each time"),
    Fault("onnxscript_takes_a_small_epsilon_for_zero", _ONNXSCRIPT, _SEEN, "a norm's epsilon of 1e-8 is removed"),
)

_RULES = "_DEFAULT_REWRITE_RULES"
_OPERATORS = "get_torchlib_ops"


@contextmanager
def briefly() -> Iterator[None]:
    """Inside, a graph is optimised in a time that grows with its size and not with its square."""
    from onnxscript import rewriter
    from onnxscript.rewriter import _matcher
    from torch.onnx._internal.exporter import _registration

    apis = getattr(_registration, "onnxscript_apis", None)
    with (
        replaced(_matcher, "math", lambda own: _Strict),
        replaced(rewriter, _RULES, lambda rules: tuple(rule for rule in rules if _of_one_output(rule))),
        replaced(apis, _OPERATORS, lambda read: functools.partial(_once, read)),
    ):
        yield


def read_operators() -> None:
    """Reads the operators now: for the process and those that are forked from it."""
    from torch.onnx._internal.exporter import _registration

    with briefly():
        _registration.ONNXRegistry.from_torchlib()


class _Strict:
    """The comparison of constants with those of a rule: nothing but zero is zero. onnxscript takes 1e-8 for it, and so
    removes the epsilon that keeps a norm from dividing by nothing."""

    @staticmethod
    def isclose(a: float, b: float, rel_tol: float, abs_tol: float) -> bool:
        return math.isclose(a, b, rel_tol=rel_tol, abs_tol=abs_tol if a == 0 or b != 0 else 0.0)


@functools.cache
def _once(read: Callable[[], Any]) -> Any:
    return read()


def _of_one_output(rule: Any) -> bool:
    pattern = getattr(rule, "_target_pattern", None)
    return getattr(pattern, "has_single_output_node", True)

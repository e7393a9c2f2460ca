"""What onnxscript does to a graph inside torch.onnx.export, without what costs far more than it gives.

Of its some forty rewriting rules those that look for several outputs at once go through the whole graph for each node:
for a graph of six thousand nodes that is nearly all of the time that the export takes. The operators that the exporter
can write are read again out of their source code for each export, and are always the same.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from assay_runner.subjects.replacing import replaced
from assay_runner.workarounds import Fault

_ONNXSCRIPT, _SEEN = "onnxscript", ("0.7.2",)
FAULTS = (
    Fault("onnxscript_matches_in_square_time", _ONNXSCRIPT, _SEEN, "rules of several outputs see every node for each"),
    Fault("onnxscript_reads_operators_each_time", _ONNXSCRIPT, _SEEN, "operators are read from their source each time"),
)

_RULES = "_DEFAULT_REWRITE_RULES"
_OPERATORS = "get_torchlib_ops"


@contextmanager
def briefly() -> Iterator[None]:
    """Inside, a graph is optimised in a time that grows with its size and not with its square."""
    from onnxscript import rewriter
    from torch.onnx._internal.exporter import _registration

    apis = getattr(_registration, "onnxscript_apis", None)
    with (
        replaced(rewriter, _RULES, lambda rules: tuple(rule for rule in rules if _of_one_output(rule))),
        replaced(apis, _OPERATORS, lambda read: functools.partial(_once, read)),
    ):
        yield


def read_operators() -> None:
    """Reads the operators now: for the process and those that are forked from it."""
    from torch.onnx._internal.exporter import _registration

    with briefly():
        _registration.ONNXRegistry.from_torchlib()


@functools.cache
def _once(read: Callable[[], Any]) -> Any:
    return read()


def _of_one_output(rule: Any) -> bool:
    pattern = getattr(rule, "_target_pattern", None)
    return getattr(pattern, "has_single_output_node", True)

"""Which nodes of a graph the provider took, and why it left the others.

ONNX Runtime says which provider got which node. The provider gives its reasons only in its log, for each node that it
refused: a session that may not compile asks it for them and ends at once.
"""

from __future__ import annotations

import contextlib
import os
import re
import tempfile
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import onnxruntime as ort

from assay_runner.engines.contract import Asked, LeftOver
from assay_runner.engines.onnxruntime.session import options

from .hiding import MARK
from .provider import Provider

_REFUSED = re.compile(r"Operator type: (\S+) Node name: (.*?) Node index: \d+.*\n\s*REASON : (.+)")
_MOST = 160  # letters of a reason


def counted(session: ort.InferenceSession, provider: Provider) -> tuple[dict[str, int], list[Any]]:
    """How many nodes ran where, and those that are not the provider's. What only hides others is not a node of the
    model."""
    nodes: Counter[str] = Counter()
    others = []
    for part in session.get_provider_graph_assignment_info():
        own, found = part.ep_name in provider.names, [node for node in part.get_nodes() if MARK not in node.name]
        nodes[provider.device if own else "cpu"] += len(found)
        others += [] if own else found
    return {place: n for place, n in nodes.items() if n}, others


def left_over(others: list[Any], reasons: Mapping[str, str]) -> list[dict[str, Any]]:
    """Operators with their counts, one row for each reason, the most frequent first."""
    seen = Counter((node.op_type, reasons.get(node.name, "")) for node in others)
    return [asdict(LeftOver(operator, n, "cpu", why)) for (operator, why), n in seen.most_common()]


def reasons(graph: Path, asked: Asked, provider: Provider) -> dict[str, str]:
    """Why the provider refuses nodes, by their names."""
    asking = options(asked)
    asking.log_severity_level = 0
    asking.add_session_config_entry("session.disable_model_compile", "1")
    return refused(heard(lambda: provider.session(graph, asking)))


def refused(log: str) -> dict[str, str]:
    """The reasons that a log gives, by the names of the nodes."""
    return {name: why.strip()[:_MOST] for _, name, why in _REFUSED.findall(log)}


def heard(call: Callable[[], Any]) -> str:
    """What libraries write to standard error during a call that may fail."""
    kept = os.dup(2)
    with tempfile.TemporaryFile() as log:
        os.dup2(log.fileno(), 2)
        try:
            with contextlib.suppress(Exception):  # it raises wherever there is something to compile
                call()
        finally:
            os.dup2(kept, 2)
            os.close(kept)
        log.seek(0)
        return log.read().decode(errors="replace")

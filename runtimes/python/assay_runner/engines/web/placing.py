"""Reads from ONNX Runtime's log where a session's nodes were placed: in a browser it says so nowhere else.

WebNN's provider joins the nodes that it takes into one, or a few: how many there were is in a separate line. A
log may be that of several sessions, made one after the other.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from assay_runner.engines.contract import LeftOver, Placement

_PLACED = re.compile(r"(?:All nodes|Node\(s\)) placed on \[(\w+)\]\. Number of nodes: (\d+)")
_NODE = re.compile(r"VerifyEachNodeIsAssignedToAnEp\]\s+(\w+) \((.*)\)\s*$")
_WEBNN = re.compile(r"number of nodes in the graph: (\d+) number of nodes supported by WebNN: (\d+)")
_NO_KERNEL = re.compile(r"(\w+) kernel not found in registries for Op type: (\w+) node name: (.*)$")

_OWN = {"webgpu": "WebGpuExecutionProvider", "webnn": "WebNNExecutionProvider", "cpu": "CPUExecutionProvider"}
"""The platform → ONNX Runtime's name for its provider."""

_COPIES = ("MemcpyToHost", "MemcpyFromHost")  # which a split makes needed: no node of the model

CUT = "the log was cut here"  # the page's words
ELSEWHERE = "wasm"  # ONNX Runtime's own kernels in the page
NO_KERNEL = "no kernel for these types"


def read(log: Sequence[str], platform: str) -> Placement | None:
    """The placement of all sessions that a log tells of, or None where it does not tell."""
    nodes: Counter[str] = Counter()
    left: Counter[str] = Counter()
    refused: set[str] = set()
    provider, joined = "", None
    for line in "\n".join(log).splitlines():
        if found := _PLACED.search(line):
            provider = found[1]
            nodes[provider] += int(found[2])
        elif (found := _NODE.search(line)) and provider:
            if found[1] in _COPIES:
                nodes[provider] -= 1
            elif provider != _OWN[platform]:
                left[found[1]] += 1
        elif found := _WEBNN.search(line):
            joined = (joined or 0) + int(found[2])
        elif found := _NO_KERNEL.search(line):
            refused.add(found[2])
    if not nodes or CUT in log:
        return None
    own = _OWN[platform]
    if joined is not None and own in nodes:
        nodes[own] = joined
    # Where one provider has all nodes the log names none of them.
    unnamed = sum(n for name, n in nodes.items() if name != own) - left.total()
    rows = [LeftOver(op, n, ELSEWHERE, NO_KERNEL if op in refused else "") for op, n in left.most_common()]
    rows += [LeftOver("nodes that are not named", unnamed, ELSEWHERE)] if unnamed > 0 else []
    own_nodes, others = nodes[own], sum(n for name, n in nodes.items() if name != own)
    counted = {platform: own_nodes} if own_nodes else {}
    return Placement(platform, counted | ({ELSEWHERE: others} if others else {}), rows)

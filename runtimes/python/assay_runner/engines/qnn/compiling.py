"""Compiles a graph into a context: a graph whose fused parts are binaries of one system on chip.

Where Qualcomm's compiler cannot finish a graph, the nodes that stop it are looked for and kept on the host, one after
the other, so that the rest runs on the device. That takes many attempts, which is why it has an end, and is not
tried for large models.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import onnx
import onnxruntime as ort
from onnxruntime.capi.onnxruntime_pybind11_state import EPFail

from assay_runner.engines.contract import Asked
from assay_runner.engines.onnxruntime.session import options
from assay_runner.errors import UnsupportedOperators

from . import hiding, placing
from .provider import Provider

CONTEXT = "model_ctx.onnx"
SMALL_BYTES = 256 << 20
MOST_HIDDEN = 8
SECONDS = 120.0
_WHY = "Qualcomm's compiler cannot finish the graph with it"


class Compiler:
    """Makes contexts with one provider."""

    def __init__(self, asked: Asked, provider: Provider) -> None:
        self._asked, self._provider = asked, provider

    def context(self, graph: Path, folder: Path) -> dict[str, Any]:
        """Writes the context into a folder and says where the nodes went."""
        try:
            session, hidden = self._written(graph, folder), {}
        except EPFail as error:
            names = self._culprits(graph, error)
            model = hiding.hidden(onnx.load(graph), names)
            session, hidden = self._written(model.SerializeToString(), folder), dict.fromkeys(names, _WHY)
        nodes, others = placing.counted(session, self._provider)
        why = placing.reasons(graph, self._asked, self._provider) if others else {}
        left = placing.left_over(others, why | hidden)
        if not (folder / CONTEXT).exists():
            raise UnsupportedOperators(f"no node of the graph runs on the HTP: {_refusals(left)}")
        return {"nodes": nodes, "left_over": left}

    def _written(self, graph: Path | bytes, folder: Path) -> ort.InferenceSession:
        making = options(self._asked)
        for name, value in {
            "ep.context_enable": "1",
            "ep.context_embed_mode": "0",  # binaries beside the graph: a protobuf holds 2 GB at most
            "ep.context_file_path": str(folder / CONTEXT),
            "session.record_ep_graph_assignment_info": "1",
        }.items():
            making.add_session_config_entry(name, value)
        return self._provider.session(graph, making)

    def _culprits(self, graph: Path, error: EPFail) -> list[str]:
        """The nodes without which the graph compiles; the error is raised where they are not found."""
        refusal = UnsupportedOperators(f"Qualcomm's compiler could not finish the graph: {_said(error)}")
        if sum(file.stat().st_size for file in graph.parent.glob(f"{graph.name}*")) > SMALL_BYTES:
            raise refusal from error
        model, names, end = onnx.load(graph), [], time.monotonic() + SECONDS
        known = {node.name for node in model.graph.node}
        while len(names) < MOST_HIDDEN and time.monotonic() < end:
            rest = hiding.hidden(model, names)
            found = hiding.culprit(rest, lambda part: time.monotonic() > end or self._compiles(part))
            if found not in known:
                break
            names.append(found)
            if self._compiles(hiding.hidden(model, names)):
                return names
        raise refusal from error

    def _compiles(self, model: onnx.ModelProto) -> bool:
        try:
            self._provider.session(model.SerializeToString(), options(self._asked))
        except EPFail:
            return False
        return True


def _said(error: Exception) -> str:
    """The provider's own words, without ONNX Runtime's prefix."""
    return str(error).rpartition("EP_FAIL : ")[2].strip()


def _refusals(left: list[Mapping[str, Any]]) -> str:
    rows = [f"{row['operator']} ×{row['count']}" + (f" ({row['why']})" if row["why"] else "") for row in left[:5]]
    return ", ".join(rows) or "the graph is empty"

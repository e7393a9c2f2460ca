"""QNN: Qualcomm's tensor processor (HTP), through ONNX Runtime's provider for it.

A graph goes three steps. It must have fixed shapes, which is checked. It is quantised where the cell asks for whole
numbers. Then the provider compiles it for one system on chip, and what came out, the context, is kept: a graph whose
fused parts are binaries, with the placement of its nodes beside it. Loading that is all that later cells do.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import onnxruntime as ort

from assay_runner.errors import ExportFailed, UnsupportedGraph

from . import qnn_placement
from .backend import Asked, Exported, LeftOver, Placement
from .ort_session import Bound, options
from .qnn_provider import Provider, provider
from .store import Entry, Store, key_of

CONTEXT = "model_ctx.onnx"
QUANTISED = "model_qdq.onnx"


@dataclass(frozen=True)
class Prepared:
    """A graph to be compiled, and what is known of it."""

    exported: Exported
    graph: Path
    facts: dict[str, Any] = field(default_factory=dict)


class QNN:
    """Compiles graphs for a system on chip, and runs them on it or in Qualcomm's emulator."""

    def __init__(self, asked: Asked, store: Store) -> None:
        self._asked, self._store = asked, store
        self._provider = provider(asked)
        self._held = ExitStack()  # entries stay in use for as long as this process may read them

    def prepare(self, exported: Exported) -> Prepared:
        """The graph, quantised where that was asked for."""
        fixed(exported.inputs)
        if self._asked.dtype == "fp16":
            return Prepared(exported, exported.graph)
        facts = {"of": exported.key, "dtype": self._asked.dtype, "onnxruntime": ort.__version__, "samples": _samples()}
        entry = self._entry("qdq", facts, lambda folder: self._quantise(exported, folder))
        return Prepared(exported, entry.path(QUANTISED), {"kept_floating": len(entry.manifest["floating"])})

    def compile(self, prepared: Prepared) -> Session:
        """The context of the graph, found or made, on the device."""
        facts = {
            "of": prepared.exported.key,
            "dtype": self._asked.dtype,
            "versions": {"onnxruntime": ort.__version__, "onnxruntime-qnn": self._provider.version},
            "options": {name: value for name, value in self._provider.options.items() if name != "backend_path"},
            "emulated": self._provider.emulated,
        }
        entry = self._entry("qnn", facts, lambda folder: self._make(prepared, folder))
        return Session(self._asked, self._provider, prepared, entry)

    def _entry(self, kind: str, facts: dict[str, Any], make: Any) -> Entry:
        key = key_of({"kind": kind, **facts})
        return self._held.enter_context(self._store.entry(kind, key, lambda folder: facts | make(folder)))

    def _quantise(self, exported: Exported, folder: Path) -> dict[str, Any]:
        from .qnn_quantising import SAMPLES, quantised

        samples = exported.calibration(SAMPLES)
        return {"floating": quantised(exported.graph, samples, self._asked.dtype, folder / QUANTISED)}

    def _make(self, prepared: Prepared, folder: Path) -> dict[str, Any]:
        """Compiles the graph and says where its nodes went."""
        making = options(self._asked)
        for name, value in {
            "ep.context_enable": "1",
            "ep.context_embed_mode": "0",  # binaries beside the graph: a protobuf holds 2 GB at most
            "ep.context_file_path": str(folder / CONTEXT),
            "session.record_ep_graph_assignment_info": "1",
        }.items():
            making.add_session_config_entry(name, value)
        try:
            session = self._provider.session(prepared.graph, making)
        except ort.capi.onnxruntime_pybind11_state.EPFail as error:
            raise UnsupportedGraph(f"Qualcomm's compiler could not finish the graph: {_said(error)}") from error
        nodes, others = qnn_placement.counted(session, self._device, self._provider)
        why = qnn_placement.reasons(prepared.graph, self._asked, self._provider) if others else {}
        left = qnn_placement.left_over(others, why)
        if not (folder / CONTEXT).exists():
            raise UnsupportedGraph(f"no node of the graph runs on the HTP: {_refusals(left)}")
        return {"nodes": nodes, "left_over": left}

    @property
    def _device(self) -> str:
        return self._provider.soc.id if self._provider.soc else "htp"


class Session(Bound):
    """A context on the device."""

    def __init__(self, asked: Asked, provider: Provider, prepared: Prepared, entry: Entry) -> None:
        self.evidence = "emulated" if provider.emulated else ""
        self.key = entry.manifest["key"]
        self._provider, self._prepared, self._entry = provider, prepared, entry
        session = provider.session(entry.path(CONTEXT), options(asked))
        super().__init__(session, [spec["name"] for spec in prepared.exported.outputs])

    def placement(self) -> Placement:
        """As ONNX Runtime assigned the nodes when the context was made."""
        manifest, soc = self._entry.manifest, self._provider.soc
        left = [LeftOver(**row) for row in manifest["left_over"]]
        return Placement(soc.id if soc else "htp", manifest["nodes"], left)

    def facts(self) -> dict[str, Any]:
        """Versions, and what the graph was compiled for."""
        soc = self._provider.soc
        return {
            "versions": {"onnxruntime": ort.__version__, "onnxruntime-qnn": self._provider.version},
            "provider": "QNN HTP emulator" if self._provider.emulated else "QNN HTP",
            "soc": {"id": soc.id, "soc_model": soc.model, "htp": soc.htp} if soc else None,
            "context_found": not self._entry.made,
            **self._prepared.facts,
        }


def fixed(inputs: Sequence[Any]) -> None:
    """Refuses a graph with free dimensions: the HTP compiles for fixed shapes only."""
    for spec in inputs:
        free = [str(d) for d in spec["shape"] if not isinstance(d, int)] if spec["shape"] is not None else ["its rank"]
        if free:
            raise ExportFailed(
                f"QNN needs fixed shapes, and the input {spec['name']} leaves {', '.join(free)} free: export the model "
                "with fixed sizes"
            )


def _samples() -> int:
    from .qnn_quantising import SAMPLES

    return SAMPLES


def _said(error: Exception) -> str:
    """The provider's own words, without ONNX Runtime's prefix."""
    return str(error).rpartition("EP_FAIL : ")[2].strip()


def _refusals(left: Sequence[dict[str, Any]]) -> str:
    rows = [f"{row['operator']} ×{row['count']}" + (f" ({row['why']})" if row["why"] else "") for row in left[:5]]
    return ", ".join(rows) or "the graph is empty"

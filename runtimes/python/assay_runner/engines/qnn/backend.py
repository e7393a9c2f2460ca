"""QNN: Qualcomm's tensor processor (HTP), through ONNX Runtime's provider for it.

A graph goes four steps. It must have fixed shapes, which is checked. It is rewritten where the HTP needs it
(`rewrites`), and quantised where the cell asks for integers (`quantising`). Then the provider compiles it
for one system on chip (`compiling`), and the result, the context, is kept with the placement of its nodes
(`placing`) beside it. Loading that is all that later cells do. Where texts are continued two graphs go that
way, and a loop runs them in turn (`generating`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import onnx_ir
import onnxruntime as ort

from assay_runner.engines.contract import Asked, Backend, Compiled, Exported, LeftOver, Meant, Placement, infers
from assay_runner.engines.formats import ONNX, Attempt, Form
from assay_runner.engines.onnxruntime.session import Bound, options
from assay_runner.errors import ExportFailed, UnsupportedDType
from assay_runner.exporting import comparison, writing
from assay_runner.exporting.store import Entry, Store, key_of
from assay_runner.subjects import generation

from . import generating, quantising, rewrites
from .compiling import CONTEXT, Compiler
from .provider import Provider, provider

FIXED_CACHE = Form("onnx-fixed-cache", "onnx", "engines.qnn.fixed_cache.write", one_call=False)

# The HTP is coarser where it fuses, and its fp16 has a short range: both can be rewritten, at a cost (`rewrites`).
_CAREFUL = {rewrites.NUMBERS: rewrites.CAREFULLY}

_NOT_QUANTISED = "generation on QNN is in fp16: the inputs to calibrate each step with are known only step by step"


@dataclass(frozen=True)
class Prepared:
    """A graph to be compiled: its file, its key, and what was done to it."""

    exported: Exported
    key: str
    graph: Path
    done: dict[str, Any] = field(default_factory=dict)


class QNN(Backend):
    """Compiles graphs for a system on chip, and runs them on it or in Qualcomm's emulator."""

    @classmethod
    def attempts(cls, cell: Mapping[str, Any]) -> tuple[Attempt, ...]:
        """By a graph in ONNX, as it is and with careful numbers."""
        if infers(cell):
            return Attempt(ONNX), Attempt(ONNX, _CAREFUL)
        return (Attempt(FIXED_CACHE), Attempt(FIXED_CACHE, _CAREFUL)) if cell["mode"] == generation.MODE else ()

    def __init__(self, asked: Asked, store: Store) -> None:
        self._asked, self._store = asked, store
        self._provider = provider(asked)
        self._held = ExitStack()  # entries stay in use for as long as this process may read them

    def prepare(self, exported: Exported) -> list[Prepared]:
        """The graph as the HTP wants it, quantised where that was asked for; both graphs where texts are continued."""
        if self._asked.mode != generation.MODE:
            return [self._ready(exported)]
        if self._asked.dtype != "fp16":
            raise UnsupportedDType(_NOT_QUANTISED)
        return [self._ready(stage) for stage in generating.stages(exported)]

    def compile(self, prepared: list[Prepared]) -> Compiled:
        """The contexts of the graphs, found or made, on the device."""
        sessions = [self._session(graph) for graph in prepared]
        if len(sessions) == 1:
            return sessions[0]
        return generating.Generating(*sessions, [spec["name"] for spec in prepared[0].exported.inputs])

    def meant(self, prepared: list[Prepared], folder: Path) -> Meant | None:
        """The quantised graph as it is written; what stays in floating point is fp16 on the HTP."""
        if self._asked.dtype not in quantising.ACTIVATIONS:
            return None
        names = [spec["name"] for spec in prepared[0].exported.outputs]
        plain = comparison.Graph(prepared[0].graph, names, optimised=False)
        return Meant(plain.arrays, comparison.PLAINLY, "fp16", rounds=True)

    def _ready(self, exported: Exported) -> Prepared:
        fixed(exported.inputs)
        rewritten = self._rewritten(exported)
        return rewritten if self._asked.dtype == "fp16" else self._quantised(rewritten)

    def _session(self, prepared: Prepared) -> Session:
        facts = {
            "of": prepared.key,
            "dtype": self._asked.dtype,
            "versions": {"onnxruntime": ort.__version__, "qnn": self._provider.version},
            "options": {name: value for name, value in self._provider.options.items() if name != "backend_path"},
            "emulated": self._provider.emulated,
        }
        compiler = Compiler(self._asked, self._provider)
        entry = self._entry("qnn", facts, lambda folder: compiler.context(prepared.graph, folder))
        return Session(self._asked, self._provider, prepared, entry)

    def _rewritten(self, exported: Exported) -> Prepared:
        careful = self._asked.settings.get(rewrites.NUMBERS) == rewrites.CAREFULLY

        def make(folder: Path) -> dict[str, Any]:
            model = onnx_ir.load(exported.graph)
            done = rewrites.apply(model, careful)
            if done:  # else the graph is used where it lies
                writing.write(model, folder)
            return {"steps": done}

        facts = {"of": exported.key, "careful": careful}
        entry = self._entry("qnn-graph", facts, make)
        done = entry.manifest["steps"]
        graph = entry.path(writing.FILE) if done else exported.graph
        return Prepared(exported, entry.manifest["key"], graph, {"steps": done} if done else {})

    def _quantised(self, rewritten: Prepared) -> Prepared:
        def make(folder: Path) -> dict[str, Any]:
            samples = rewritten.exported.calibration(quantising.SAMPLES)
            return {"floating": quantising.quantised(rewritten.graph, samples, self._asked.dtype, folder)}

        facts = {
            "of": rewritten.key,
            "dtype": self._asked.dtype,
            "versions": {"onnxruntime": ort.__version__},
        }
        entry = self._entry("qnn-quantised", facts, make)
        kept = {"kept_floating": len(entry.manifest["floating"])}
        graph = entry.path(quantising.FILE)
        return Prepared(rewritten.exported, entry.manifest["key"], graph, rewritten.done | kept)

    def _entry(self, kind: str, facts: dict[str, Any], make: Callable[[Path], dict[str, Any]]) -> Entry:
        key = key_of({"kind": kind, **facts})
        return self._held.enter_context(self._store.entry(kind, key, lambda folder: facts | make(folder)))


class Session(Bound, Compiled):
    """A context on the device."""

    def __init__(self, asked: Asked, provider: Provider, prepared: Prepared, entry: Entry) -> None:
        self.evidence = "emulated" if provider.emulated else ""
        self.key = entry.manifest["key"]
        self._provider, self._prepared, self._entry = provider, prepared, entry
        session = provider.session(entry.path(CONTEXT), options(asked))
        super().__init__(session, [spec["name"] for spec in prepared.exported.outputs])

    def placement(self) -> Placement:
        """As ONNX Runtime assigned the nodes when the context was made."""
        manifest = self._entry.manifest
        left = [LeftOver(**row) for row in manifest["left_over"]]
        return Placement(self._provider.device, manifest["nodes"], left)

    def facts(self) -> dict[str, Any]:
        """Versions, and what the graph was compiled for."""
        soc = self._provider.soc
        return {
            "versions": {"onnxruntime": ort.__version__, "qnn": self._provider.version},
            "provider": "QNN HTP emulator" if self._provider.emulated else "QNN HTP",
            "engine_settings": compiled_for(soc),
            "context_found": not self._entry.made,
            **self._prepared.done,
        }


def compiled_for(soc: Any | None) -> dict[str, str] | None:
    """The chip that a context was compiled for, as results keep it."""
    return {"soc": soc.id, "soc_model": str(soc.model), "htp": str(soc.htp)} if soc else None


def fixed(inputs: Sequence[Any]) -> None:
    """Refuses a graph with free dimensions: the HTP compiles for fixed shapes only."""
    for spec in inputs:
        free = [str(d) for d in spec["shape"] if not isinstance(d, int)] if spec["shape"] is not None else ["its rank"]
        if free:
            raise ExportFailed(
                f"QNN needs fixed shapes, and the input {spec['name']} leaves {', '.join(free)} free: export the model "
                "with fixed sizes"
            )

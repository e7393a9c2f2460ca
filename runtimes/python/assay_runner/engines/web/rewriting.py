"""A graph for browsers: rewritten where they need it, in the numbers of the cell's dtype, and kept in the store."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import onnx_ir

from assay_runner.engines.contract import Asked, Exported
from assay_runner.errors import UnsupportedDType
from assay_runner.exporting import writing
from assay_runner.exporting.steps import dead
from assay_runner.exporting.store import Store, key_of

from . import dtypes, rewrites
from .limits import Weights

WIDE = "WIDE_INTEGERS"
"""The setting of an attempt that leaves whole numbers their 64 bits."""

THROUGH = "THROUGH"
"""The setting of an attempt that names a library which runs the model: the graph stays as that one expects it."""

_FORM = 2  # of what a manifest tells


@dataclass(frozen=True)
class Prepared:
    """A graph for browsers: its file, its key, what was done to it, and with which settings its weights were kept."""

    exported: Exported
    key: str
    graph: Path
    steps: Sequence[Mapping[str, Any]]
    settings: Mapping[str, int]
    tensor_bytes: int  # of the largest weight
    before: Prepared | None = None  # of generation, the graph that runs once

    @property
    def graphs(self) -> int:
        """How many graphs hold the model's weights."""
        return 1 if self.before is None else 2

    def files(self) -> dict[str, Path]:
        """The graph's own file and the weights beside it, by the names that it knows them under."""
        return {path.name: path for path in self.graph.parent.iterdir() if _of_graph(path, self.graph)}

    def weights(self) -> Weights:
        """What a page has to hold of all graphs."""
        own = Weights(tuple(path.stat().st_size for path in self.files().values()), self.tensor_bytes)
        return own if self.before is None else own.beside(self.before.weights())


@dataclass(frozen=True)
class Preparing:
    """What makes graphs for one job. What it used is held while the stack is open."""

    asked: Asked
    store: Store
    held: ExitStack

    def prepared(self, exported: Exported) -> Prepared:
        """The graph as browsers want it, or as the library expects it that runs it."""
        return self._as_it_is(exported) if THROUGH in self.asked.settings else self._rewritten(exported)

    def _as_it_is(self, exported: Exported) -> Prepared:
        if self.asked.dtype != "fp32":
            through = self.asked.settings[THROUGH]
            raise UnsupportedDType(f"models go through {through} in fp32 here, not in {self.asked.dtype}")
        largest = _largest(onnx_ir.load(exported.graph))
        return Prepared(exported, exported.key, exported.graph, (), {}, largest)

    def _rewritten(self, exported: Exported) -> Prepared:
        numbers = dtypes.numbers(self.asked.dtype)
        facts = self._facts(exported, numbers)

        def make(folder: Path) -> dict[str, Any]:
            model = onnx_ir.load(exported.graph)
            done = rewrites.apply(model, facts["whole"])
            if done or numbers.convert:  # else the graph is used where it lies
                dead.remove(model)
                model = dtypes.convert(model, self.asked.dtype, self._blocks())
                writing.write(model, folder)
            return facts | {"steps": done, "largest_bytes": _largest(model)}

        entry = self.held.enter_context(self.store.entry("web-graph", key_of(facts), make))
        done, largest = entry.manifest["steps"], entry.manifest["largest_bytes"]
        graph = entry.path(writing.FILE) if done or numbers.convert else exported.graph
        before = exported.encoder and self.prepared(exported.encoder)
        settings = numbers.settings(self._blocks())
        return Prepared(exported, entry.manifest["key"], graph, done, settings, largest, before)

    def _blocks(self) -> dtypes.Blocks:
        asked = self.asked.blocks
        return dtypes.Blocks(asked.get("block") or dtypes.BLOCK, asked.get("accuracy") or 0)

    def _facts(self, exported: Exported, numbers: dtypes.Numbers) -> dict[str, Any]:
        """What decides the graph."""
        whole = self.asked.settings.get(WIDE) is None
        facts = {"kind": "web-graph", "of": exported.key, "whole": whole, "form": _FORM}
        if numbers.convert:
            facts |= {"dtype": self.asked.dtype, "settings": numbers.settings(self._blocks()), **dtypes.versions()}
        return facts


def _largest(model: onnx_ir.Model) -> int:
    weights = (value.const_value for value in model.graph.initializers.values())
    return max((tensor.nbytes for tensor in weights if tensor is not None), default=0)


def _of_graph(path: Path, graph: Path) -> bool:
    """The graph's own file and the weights beside it."""
    return path == graph or path.name.startswith(graph.name + ".") or path.suffix == ".data"

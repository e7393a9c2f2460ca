"""OpenVINO on its CPU, GPU and NPU, or on what AUTO chooses of them.

A graph goes three steps, each kept in the store under a key of its own. The **model** is the graph in OpenVINO's own
format, with 16-bit weights where fp16 was asked for, or quantised. The **blob** is what the device made from it,
without the weights: a device that can import one compiles in about half the time, and one with weights would take as
long to read as to compile again. A blob that does not compute what its model does is not used. The compiled model runs
in the cell's scenario.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import openvino as ov

from assay_runner.engines.contract import Arrays, Asked, Backend, Exported, Meant
from assay_runner.engines.formats import Attempt
from assay_runner.errors import AbsentDevice, BadRecipe, RefusedGraph, UnsupportedDType
from assay_runner.exporting.store import Entry, Store, key_of
from assay_runner.subjects import generation

from . import attempts as ways
from . import dequantising, quantising
from . import precision as precisions
from .compiled import SCENARIOS, Generating, Latency
from .restoring import same

MODEL, BLOB = "model.xml", "model.blob"
AUTO = "AUTO"

_NEED_INPUTS = ("int8", "w4")  # to see ranges or fit scales, which a graph with a state of its own does not take

# An automatic choice must be the one that is timed, and not the device that helps out while it compiles.
_OF_DEVICE = {AUTO: {"ENABLE_STARTUP_FALLBACK": False}}


@dataclass(frozen=True)
class Model:
    """A model in OpenVINO's format, and the names of its outputs in order."""

    key: str
    file: Path
    outputs: tuple[str, ...]
    sample: Callable[[], Arrays]  # inputs that it is meant for
    graph: Path  # what it was made of
    encoder: Model | None = None  # which runs once before, in a generation


class OpenVINO(Backend):
    """Runs graphs on one of OpenVINO's devices."""

    @classmethod
    def attempts(cls, cell: Mapping[str, Any]) -> tuple[Attempt, ...]:
        """By a graph in ONNX, then directly from torch."""
        return ways.attempts(cell)

    def __init__(self, asked: Asked, store: Store) -> None:
        self._asked, self._store = asked, store
        self._core = ov.Core()
        self._device = asked.device or "CPU"
        self._held = ExitStack()  # entries in use: the job's process is their end
        here = self._core.available_devices
        if self._device != AUTO and self._device not in here:
            raise AbsentDevice(f"OpenVINO has no device {self._device} here: it has {', '.join(here)}")
        if asked.scenario not in SCENARIOS:
            raise BadRecipe(f"OpenVINO has no scenario {asked.scenario!r}: it has {', '.join(SCENARIOS)}")
        if asked.mode == generation.MODE and asked.dtype in _NEED_INPUTS:
            raise UnsupportedDType(f"a model that generates is not quantised to {asked.dtype} here: w8 needs no inputs")
        self._capabilities = [str(c) for c in self._core.get_property(self._device, "OPTIMIZATION_CAPABILITIES")]
        self._precision = precisions.precision(asked.dtype, self._device, self._capabilities)

    def prepare(self, exported: Exported) -> Model:
        """The graph in OpenVINO's format, with the weights that the dtype asks for."""
        names = tuple(str(spec["name"]) for spec in exported.outputs)

        def sample() -> Arrays:
            return exported.calibration(1)[0]

        encoder = exported.encoder and self.prepare(exported.encoder)
        row = self._precision
        if exported.graph.suffix == ".xml" and not (row.half_weights or row.quantised):
            return Model(exported.key, exported.graph, names, sample, exported.graph, encoder)
        facts = {
            "graph": exported.key,
            "openvino": ov.get_version(),
            "half_weights": row.half_weights,
            "quantised": self._quantised(),
            "nncf": quantising.nncf_version() if row.quantised else "",
        }
        whose = {"of": exported.key}
        entry = self._entry("openvino", facts, lambda folder: self._converted(exported, folder) | facts | whose)
        return Model(entry.manifest["key"], entry.path(MODEL), names, sample, exported.graph, encoder)

    def compile(self, prepared: Model) -> Latency:
        """The model on the device, ready to run."""
        model = self._on_device(prepared)
        if self._asked.mode != generation.MODE:
            return SCENARIOS[self._asked.scenario][1](model, self._asked, prepared.outputs, prepared.key)
        once = prepared.encoder
        encoder = once and Latency(self._on_device(once), self._asked, once.outputs, once.key)
        return Generating(model, self._asked, prepared.outputs, prepared.key, encoder)

    def meant(self, prepared: Model, folder: Path) -> Meant | None:
        """The model with its weights widened. A stateful one is not compared so."""
        if not self._precision.quantised or self._asked.mode == generation.MODE:
            return None
        hint = precisions.hint(self._precision, self._capabilities)
        return dequantising.meant(prepared.file, prepared.graph, prepared.outputs, precisions.DTYPES[hint], folder)

    def _on_device(self, prepared: Model) -> ov.CompiledModel:
        """Imported where it was compiled before, compiled otherwise."""
        config = self._config()
        with _refusing():
            compiled = self._imported(prepared, config) or self._core.compile_model(prepared.file, self._device, config)
        if self._precision.hint and self._device != AUTO:
            told = compiled.get_property("INFERENCE_PRECISION_HINT")
            precisions.confirm(self._precision.hint, told, self._asked.dtype, self._device)
        return compiled

    def _converted(self, exported: Exported, folder: Path) -> dict[str, Any]:
        with _refusing():
            model = self._core.read_model(exported.graph)
        if self._precision.quantised:
            model = quantising.quantise(model, self._quantised(), exported)
        ov.save_model(model, folder / MODEL, compress_to_fp16=self._precision.half_weights)
        return {"inputs": list(exported.inputs), "outputs": list(exported.outputs)}

    def _quantised(self) -> str:
        return quantising.suited(self._precision.quantised, self._device)

    def _config(self) -> dict[str, Any]:
        hint = precisions.hint(self._precision, self._capabilities)
        config = {
            "PERFORMANCE_HINT": SCENARIOS[self._asked.scenario][0],
            "INFERENCE_PRECISION_HINT": hint,
            "PERF_COUNT": self._asked.profile,
        }
        # Rounding activations at run time, and the cache of past tokens, is not what the dtype names mean.
        own = {"INFERENCE_NUM_THREADS": self._asked.threads or None, "DYNAMIC_QUANTIZATION_GROUP_SIZE": 0}
        own["KV_CACHE_PRECISION"] = hint
        known = self._core.get_property(self._device, "SUPPORTED_PROPERTIES")
        config |= {name: value for name, value in own.items() if value is not None and name in known}
        return config | _OF_DEVICE.get(self._device, {}) | dict(self._asked.settings)

    def _imported(self, model: Model, config: dict[str, Any]) -> ov.CompiledModel | None:
        """The compiled model by way of the store; None where the device exports none, refuses its own, or where a blob
        cannot be compared with the model: one that generates has a state, which a trial would change."""
        if "EXPORT_IMPORT" not in self._capabilities or self._asked.mode == generation.MODE:
            return None
        settings = config | {"CACHE_MODE": "OPTIMIZE_SIZE"}
        made: list[ov.CompiledModel] = []

        def restored(blob: Path) -> ov.CompiledModel | None:
            weights = {"WEIGHTS_PATH": str(model.file.with_suffix(".bin"))}
            try:
                return self._core.import_model(blob.read_bytes(), self._device, settings | weights)
            except RuntimeError:  # the driver is not the one its version says; compiling always works
                return None

        def export(folder: Path) -> dict[str, Any]:
            made.append(self._core.compile_model(model.file, self._device, settings))
            (folder / BLOB).write_bytes(made[0].export_model().getbuffer())
            true = same(made[0], restored(folder / BLOB), model.sample())
            return {"of": model.key, "device": self._device, "true": true}

        entry = self._entry("openvino-blob", self._blob_facts(model, settings), export)
        if made:
            return made[0]
        return restored(entry.path(BLOB)) if entry.manifest["true"] else None

    def _blob_facts(self, model: Model, settings: dict[str, Any]) -> dict[str, Any]:
        """What a blob depends on. It fits the silicon that it was made on, so what that can do is told too."""
        return {
            "model": model.key,
            "compared": "by a sample",  # with what it was made of
            "openvino": ov.get_version(),
            "device": str(self._core.get_property(self._device, "FULL_DEVICE_NAME")),
            "capabilities": self._capabilities,
            "settings": {name: str(value) for name, value in settings.items() if name != "PERF_COUNT"},
        }

    def _entry(self, kind: str, facts: dict[str, Any], make: Any) -> Entry:
        return self._held.enter_context(self._store.entry(kind, key_of(facts), make))


@contextmanager
def _refusing() -> Iterator[None]:
    """Names what OpenVINO raises of a graph. Its last lines say what is wrong, those before them where it was seen."""
    try:
        yield
    except RuntimeError as error:
        said = [line.strip() for line in str(error).splitlines() if line.strip() and "Exception from" not in line]
        raise RefusedGraph(f"OpenVINO refuses the graph: {' '.join(said)[:1000]}") from error

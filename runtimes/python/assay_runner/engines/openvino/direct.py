"""Writes a torch model in OpenVINO's own format, without ONNX between.

It is the second way to OpenVINO, for models that ONNX cannot express or whose ONNX graph OpenVINO refuses. The
exporters are transformers' own and OpenVINO's converter over torch.export; the check runs on OpenVINO's CPU in
float32. Everything else is as for ONNX.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import torch

from assay_runner.exporting import comparison, exporters, trying, ways
from assay_runner.exporting.call import Subject, traceable
from assay_runner.exporting.exporters import Exporter
from assay_runner.exporting.following import Place, retraced
from assay_runner.exporting.graph import Graph
from assay_runner.exporting.ways import Way
from assay_runner.subjects.outputs import Tensors

FILE = "model.xml"


def first_good(subject: Subject, folder: Path) -> Graph:
    """Writes the first model that passes its check."""
    return trying.only_passing(subject, folder, WAYS, _export)


def _export(way: Way, subject: Subject, folder: Path) -> tuple[Any, Graph]:
    model, graph = written(way, subject, folder)
    names = [row["name"] for row in graph.outputs]
    held = [name for step in graph.steps for name in step.get("inputs", ())]
    check = comparison.sampled(version(), lambda: _Loaded(folder / FILE, subject, names), subject, held)
    return model, replace(graph, check=check)


def written(way: Way, subject: Subject, folder: Path) -> tuple[Any, Graph]:
    """What a way makes of the subject, written and not checked yet."""
    import openvino as ov

    model, fixed = trying.exported(way, subject)
    if not fixed.options.dynamic:  # converters leave axes free that the trace had fixed
        model.reshape({port: list(fixed.tensors[_name(port, fixed.tensors)].shape) for port in model.inputs})
    names = _named(model.outputs, list(subject.expected))
    ov.save_model(model, folder / FILE, compress_to_fp16=False)
    return model, Graph(
        file=FILE,
        opset=0,
        inputs=[_described(port, _name(port, fixed.tensors)) for port in model.inputs],
        outputs=[_described(port, name) for port, name in zip(model.outputs, names, strict=True)],
        exporter=way.exporter.name(),
        steps=trying.frozen(subject, fixed),
        tried=[],
        operators=dict(sorted(Counter(op.get_type_name() for op in model.get_ops()).items())),
        check={},
    )


def _named(ports: Sequence[Any], expected: list[str]) -> list[str]:
    """The outputs' names in the model's order, which is not always that of the trace."""
    names = [next((name for name in port.get_names() if name in expected), "") for port in ports]
    return names if sorted(names) == sorted(expected) else expected


def _name(port: Any, tensors: Any) -> str:
    return next(name for name in port.get_names() if name in tensors)


def _described(port: Any, name: str) -> dict[str, Any]:
    """Name, shape and dtype; a free axis is a string."""
    shape = [axis.get_length() if axis.is_static else str(axis) for axis in port.get_partial_shape()]
    return {"name": name, "shape": shape, "dtype": str(port.get_element_type().to_dtype())}


class _Loaded:
    """A model in OpenVINO's format on its CPU, in float32."""

    def __init__(self, path: Path, subject: Subject, names: Sequence[str]) -> None:
        import openvino as ov

        settings = {"INFERENCE_PRECISION_HINT": "f32", "INFERENCE_NUM_THREADS": torch.get_num_threads()}
        self._compiled, self._names = ov.Core().compile_model(path, "CPU", settings), names
        self.inputs = [_name(port, subject.tensors) for port in self._compiled.inputs]

    def run(self, tensors: Mapping[str, torch.Tensor]) -> Tensors:
        results = self._compiled([tensors[name].numpy() for name in self.inputs])
        return {name: torch.from_numpy(results[i].copy()) for i, name in enumerate(self._names)}


def _by_transformers(subject: Subject) -> Any:
    from transformers.exporters.exporter_openvino import OpenVINOConfig, OpenVINOExporter

    given, shapes = exporters.shown(subject)
    config = OpenVINOConfig(dynamic=shapes is not None, dynamic_shapes=shapes, stateful=False)

    def trace(lines: frozenset[Place]) -> Any:
        with traceable(subject, lines), exporters.nothing_beforehand():
            return OpenVINOExporter().export(subject.model, dict(given), config)

    return retraced(trace)


def _by_openvino(subject: Subject) -> Any:
    import openvino as ov

    given, shapes = exporters.shown(subject)

    def trace(lines: frozenset[Place]) -> Any:
        with traceable(subject, lines), torch.no_grad():
            return torch.export.export(subject.model, (), dict(given), dynamic_shapes=shapes, strict=False)

    return ov.convert_model(retraced(trace))


def version() -> str:
    """OpenVINO's name and version, as results have it."""
    import openvino as ov

    return f"openvino {ov.get_version().partition('-')[0]}"


TRANSFORMERS = replace(exporters.TRANSFORMERS, export=_by_transformers)
OPENVINO = Exporter(lambda: find_spec("openvino") is not None, version, _by_openvino)

WAYS = ways.table(TRANSFORMERS, OPENVINO)

"""The exporters themselves: each makes an ONNX model in memory out of a subject.

transformers' own comes first: it knows what torch.export fails on in its models. torch's comes second, and
serves releases of transformers that have none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

import onnx_ir
import torch

from assay_runner.exporting import axes, optimising
from assay_runner.exporting.call import Subject, traceable
from assay_runner.exporting.following import Place, retraced
from assay_runner.subjects.replacing import replaced
from assay_runner.workarounds import Fault


@dataclass(frozen=True)
class Exporter:
    """One exporter: whether it is installed, what it calls itself, and what it does."""

    here: Callable[[], bool]
    name: Callable[[], str]
    export: Callable[[Subject], Any]  # a model in ONNX, or in the form of an engine's own


def _by_transformers(subject: Subject) -> onnx_ir.Model:
    from transformers.exporters.exporter_onnx import OnnxConfig, OnnxExporter

    given, shapes = shown(subject)
    config = OnnxConfig(opset_version=subject.options.opset, dynamic=shapes is not None, dynamic_shapes=shapes)

    def trace(lines: frozenset[Place]) -> onnx_ir.Model:
        with traceable(subject, lines), nothing_beforehand(), optimising.briefly():
            return OnnxExporter().export(subject.model, dict(given), config).model

    return retraced(trace)


WRONG_PATCHES: Mapping[str, Fault] = {
    "transformers.models.glm_ocr.modeling_glm_ocr.GlmOcrVisionAttention": Fault(
        "transformers_exports_glm_ocr_without_norms",
        "transformers",
        ("5.17.0", "5.22.2"),
        "what its exporter puts in the place of the vision attention leaves the norms of queries and keys out",
    ),
}
"""Classes whose forward transformers' exporter exchanges for one that computes something else, and what is wrong."""


@contextmanager
def nothing_beforehand() -> Iterator[None]:
    """Inside, transformers' exporter computes no inputs of its own (cu_seqlens, position_ids): the graph would ask for
    them, and what they follow from is known here. Nor does it cast them to the dtype of the weights, or exchange
    what it would get wrong."""
    from transformers.exporters import utils

    with (
        replaced(utils, "precompute_export_inputs", lambda own: lambda model, inputs: None),
        replaced(utils, "module_dtype", lambda own: lambda model: None),
        replaced(utils, "_PATCHES", _right_ones),
    ):
        yield


def _right_ones(patches: Mapping[str, list[tuple[str, str, Any]]]) -> dict[str, list[tuple[str, str, Any]]]:
    return {kind: [row for row in rows if row[0] not in WRONG_PATCHES] for kind, rows in patches.items()}


def shown(subject: Subject) -> tuple[dict[str, torch.Tensor], dict[str, Any] | None]:
    """The inputs that a tracer is shown, and which of their axes it leaves free."""
    if not subject.options.dynamic:
        return dict(subject.tensors), None
    return axes.doubled(subject.tensors), axes.free(subject.tensors)


def _by_torch(subject: Subject) -> onnx_ir.Model:
    given, shapes = shown(subject)

    def trace(lines: frozenset[Place]) -> onnx_ir.Model:
        with traceable(subject, lines), torch.no_grad():
            # Not left to torch.onnx, which goes on to the bytecode tracer: slow, and of no use for such a forward.
            program = torch.export.export(subject.model, (), given, dynamic_shapes=shapes, strict=False)
            with optimising.briefly():
                return torch.onnx.export(
                    program,
                    input_names=list(subject.tensors),
                    output_names=list(subject.expected),
                    opset_version=subject.options.opset,
                    dynamo=True,
                    verbose=False,
                ).model

    return retraced(trace)


def _transformers() -> str:
    import transformers

    return f"transformers {transformers.__version__}"


def _torch() -> str:
    return f"torch.onnx {torch.__version__.partition('+')[0]}"


def _has_exporters() -> bool:
    return find_spec("transformers") is not None and find_spec("transformers.exporters") is not None


TRANSFORMERS = Exporter(_has_exporters, _transformers, _by_transformers)
TORCH = Exporter(lambda: True, _torch, _by_torch)

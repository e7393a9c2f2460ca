"""The exporters themselves: each makes an ONNX model in memory out of a subject.

transformers' own comes first: it knows what torch.export fails on in its models. torch's comes second, and
serves releases of transformers that have none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
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
        # What is read in a trace goes on as it is, and a model may have kept it from a call without gradients.
        gradients = torch.no_grad() if subject.chosen else nullcontext()
        with traceable(subject, lines), nothing_beforehand(), optimising.briefly(), gradients:
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

LOWEST_ROWS = Fault(
    "transformers_exports_zeros_for_rows_of_the_lowest_number",
    "transformers",
    ("5.22.2",),
    "where a mask adds the lowest number to a whole row, its exporter gives zeros, and torch the mean of the values",
)
_ATTENTION = ("torch.nn.functional", "scaled_dot_product_attention")


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
    return {kind: [_right(kind, row) for row in rows if row[0] not in WRONG_PATCHES] for kind, rows in patches.items()}


def _right(kind: str, row: tuple[str, str, Any]) -> tuple[str, str, Any]:
    """A patch; that of attention with masks of numbers as torch takes them (see LOWEST_ROWS)."""
    numbers = _OF_NUMBERS.get(kind)
    if row[:2] != _ATTENTION or numbers is None:
        return row

    def patched(original: Any) -> Any:
        attend = row[2](original)

        def attention(query: Any, key: Any, value: Any, attn_mask: Any = None, *args: Any, **kwargs: Any) -> Any:
            if attn_mask is None or attn_mask.dtype is torch.bool:
                return attend(query, key, value, attn_mask, *args, **kwargs)
            return numbers(original, attend, query, key, value, attn_mask, *args, **kwargs)

        return attention

    return (*row[:2], patched)


def _emptied(
    own: Any, patched: Any, query: Any, key: Any, value: Any, mask: torch.Tensor, *args: Any, **kw: Any
) -> Any:
    """Attention that gives zeros where a mask adds minus infinity to a whole row, and only there."""
    attended = own(query, key, value, mask, *args, **kw)
    return torch.where(mask.amax(dim=-1, keepdim=True) == -torch.inf, torch.zeros_like(attended[..., :1]), attended)


def _lifted(own: Any, patched: Any, query: Any, key: Any, value: Any, mask: torch.Tensor, *args: Any, **kw: Any) -> Any:
    """The exporter's attention, given a little more than the lowest number, which hides as much."""
    least = torch.finfo(mask.dtype).min
    return patched(query, key, value, torch.where(mask == least, least * 0.99, mask), *args, **kw)


_OF_NUMBERS: Mapping[str, Callable[..., Any]] = {"onnx": _emptied, "openvino": _lifted}
"""Kinds of patches → attention for masks of numbers: OpenVINO's own needs what the exporter does besides."""


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

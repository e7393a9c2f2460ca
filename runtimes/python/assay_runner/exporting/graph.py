"""What is asked of an export, and what was written."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from assay_runner.errors import ExportFailed

OLDEST_OPSET = 18  # what torch's exporter is written in: older ones would need operators translated back


@dataclass(frozen=True)
class Options:
    """How a graph is wanted."""

    opset: int | None = None  # None: the exporter's own default
    dynamic: bool = False  # batch and sequence axes stay free where the model allows it
    constant_masks: bool = False  # masks that hide nothing are constants: a leaner graph, for inputs without padding
    seed: int = 0  # what noise the model draws, where it draws any: the seed of the expected outputs


def opset(asked: Any) -> int | None:
    """The asked opset, or None for the exporter's own choice."""
    import onnx

    newest = onnx.defs.onnx_opset_version()
    if asked and not OLDEST_OPSET <= int(asked) <= newest:
        raise ExportFailed(
            f"opset {asked} cannot be written: the exporters write {OLDEST_OPSET}, and onnx {onnx.__version__} knows "
            f"{newest} at most"
        )
    return int(asked) if asked else None


@dataclass(frozen=True)
class Graph:
    """A written graph, in JSON's types.

    Inputs and outputs are in the graph's order. An input has the recipe's name. An output has the name that
    `outputs.flatten` gives it; the graph itself calls it so too, unless an input has that name already: run the graph
    by position and name the results from here.
    """

    file: str
    opset: int  # 0 where the format has none
    inputs: list[dict[str, Any]]
    outputs: list[dict[str, Any]]
    exporter: str
    steps: list[dict[str, Any]]
    tried: list[dict[str, str]]
    operators: dict[str, int]
    check: dict[str, Any]
    encoder: dict[str, Any] | None = None  # of generation, a graph that runs once before: its file, inputs, outputs

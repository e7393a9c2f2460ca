"""What is asked of an export, and what was written."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Options:
    """How a graph is wanted."""

    opset: int | None = None  # None: the exporter's own default
    dynamic: bool = False  # batch and sequence axes stay free where the model allows it
    constant_masks: bool = False  # masks that hide nothing are constants: a leaner graph, for inputs without padding
    seed: int = 0  # what noise the model draws, where it draws any: the seed of the expected outputs


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

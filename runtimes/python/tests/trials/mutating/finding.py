"""What mutations look for in a graph, and the few edits that they share.

A constant is often shared by several nodes, since equal weights are kept once: an edit gives one user a constant of its
own, and leaves the others theirs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeVar

import numpy as np
import onnx_ir

from assay_runner.exporting.steps import editing

T = TypeVar("T")


class Lacking(Exception):
    """The graph has nothing that the mutation could alter."""


@dataclass(frozen=True)
class Graph:
    """A graph to alter, and the shapes that its outputs have."""

    model: onnx_ir.Model
    outputs: Sequence[Sequence[int] | None]  # in order; None for one that is not floating
    turn: int = 0  # which place to take, where there are several
    places: list[int] = field(default_factory=lambda: [1])  # how many there were

    def one_of(self, found: Sequence[T], what: str) -> T:
        """One of the places for a fault, the one in the middle first: first and last layers are often special."""
        if not found:
            raise Lacking(f"no {what}")
        self.places[:] = [len(found)]
        return found[(len(found) // 2 + self.turn) % len(found)]

    def nodes(self, *operators: str) -> list[onnx_ir.Node]:
        """The nodes of these operators, in order."""
        return editing.nodes(self.model, *operators)

    def constant(self, array: np.ndarray, like: onnx_ir.Value) -> onnx_ir.Value:
        """A new constant of the main graph, which subgraphs see too."""
        return editing.known(self.model.graph, array, like)

    def give(self, node: onnx_ir.Node, index: int, array: np.ndarray) -> None:
        """Lets an input of one node be another constant."""
        node.replace_input_with(index, self.constant(array, node.inputs[index]))


def is_float(array: np.ndarray | None) -> bool:
    """Whether something is an array of floats."""
    return array is not None and array.dtype == np.float32


def insert(node: onnx_ir.Node, operator: str, inputs: Sequence[onnx_ir.Value], like: onnx_ir.Value) -> onnx_ir.Value:
    """A new node before another one; its output has the shape and dtype of a value."""
    made = onnx_ir.node(operator, inputs)
    made.outputs[0].shape, made.outputs[0].dtype = like.shape, like.dtype
    node.graph.insert_before(node, made)
    return made.outputs[0]

"""Splits that undo a join."""

from __future__ import annotations

import onnx_ir

from assay_runner.exporting.steps import editing


def undo(model: onnx_ir.Model) -> int:
    """Lets the users of what Split takes out of a Concat use what was put into it, where the pieces are the same. A
    library that keeps several tensors as one and takes them out again leaves this when nothing was kept before."""
    done = 0
    for node in editing.nodes(model, "Split"):
        joined = editing.producer(node.inputs[0], "Concat")
        if joined is None or any(value.is_graph_output() for value in node.outputs) or not _same(joined, node):
            continue
        for part, piece in zip(node.outputs, joined.inputs, strict=True):
            editing.take_place(part, piece)
        node.graph.remove(node, safe=True)
        done += 1
    return done


def _same(joined: onnx_ir.Node, node: onnx_ir.Node) -> bool:
    """Whether the shapes of the pieces are those that were joined, along the same axis."""
    pieces = [editing.shape(value) for value in joined.inputs]
    parts = [editing.shape(value) for value in node.outputs]
    if None in pieces or pieces != parts:
        return False
    rank = len(parts[0])
    return joined.attributes["axis"].as_int() % rank == node.attributes.get_int("axis", 0) % rank

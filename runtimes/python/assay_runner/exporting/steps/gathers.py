"""Gathers by constant places: those that only move or repeat what is there, and those along several axes."""

from __future__ import annotations

from math import prod

import numpy as np
import onnx_ir

from assay_runner.exporting.steps import editing


def to_reshapes(model: onnx_ir.Model) -> int:
    """GatherND by constant places becomes Reshape and Expand where it takes everything once, in order, and repeats it
    along axes: how exporters write a padding mask that is looked up by position. QNN cannot gather booleans."""
    done = 0
    for node in editing.nodes(model, "GatherND"):
        places, source = editing.constant(node.inputs[1]), editing.shape(node.inputs[0])
        if places is None or source is None or node.attributes.get_int("batch_dims", 0):
            continue
        if places.shape[-1] != len(source) or editing.shape(node.outputs[0]) != places.shape[:-1]:
            continue
        kept = _kept(places, source)
        if kept is None:
            continue
        _rewrite(node, kept, places.shape[:-1])
        done += 1
    return done


def by_number(model: onnx_ir.Model) -> int:
    """GatherND by constant places becomes Gather along the axes that they name, joined to one."""
    done = 0
    for node in editing.nodes(model, "GatherND"):
        places, source = editing.constant(node.inputs[1]), editing.shape(node.inputs[0])
        if places is None or source is None or node.attributes.get_int("batch_dims", 0):
            continue
        depth = places.shape[-1]
        numbers = editing.known(node.graph, _numbers(places, source[:depth]).astype(np.int32), node.outputs[0])
        editing.replace(node, "Gather", [table(node, depth), numbers], {"axis": 0})
        done += 1
    return done


def table(node: onnx_ir.Node, depth: int) -> onnx_ir.Value:
    """What a gather takes from, its first axes joined to one."""
    data = node.inputs[0]
    sizes = editing.shape(data) or ()
    flat = [prod(sizes[:depth]), *sizes[depth:]]
    target = editing.known(node.graph, np.asarray(flat, np.int64), node.outputs[0])
    return editing.before(node, "Reshape", [data, target], shape=flat, dtype=data.dtype)


def _numbers(places: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """The places in an array of a shape, counted through."""
    wrapped = np.moveaxis(np.where(places < 0, places + np.asarray(shape), places), -1, 0)
    return np.ravel_multi_index(tuple(wrapped), shape)


def _kept(places: np.ndarray, source: tuple[int, ...]) -> tuple[int, ...] | None:
    """The shape before repetition, if without it the places count through the whole source."""
    flat = _numbers(places, source)
    for axis in range(flat.ndim):
        first = flat.take([0], axis)
        if (flat == first).all():
            flat = first
    return flat.shape if np.array_equal(flat.ravel(), np.arange(np.prod(source))) else None


def _rewrite(node: onnx_ir.Node, kept: tuple[int, ...], full: tuple[int, ...]) -> None:
    target = editing.known(node.graph, np.asarray(kept, np.int64), node.outputs[0])
    if kept == full:
        editing.replace(node, "Reshape", [node.inputs[0], target])
        return
    value = editing.before(node, "Reshape", [node.inputs[0], target], shape=kept)
    editing.replace(node, "Expand", [value, editing.known(node.graph, np.asarray(full, np.int64), node.outputs[0])])

"""Transposed convolutions as browsers have them: one group, nothing cut off at the edges.

Groups are convolved one by one and joined. What padding would have cut off is sliced off afterwards, and what an output
padding would have added is added as zeros before the bias.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import onnx_ir

from assay_runner.exporting.steps import editing


def plain(model: onnx_ir.Model) -> int:
    """Rewrites transposed convolutions with groups or explicit padding."""
    done = 0
    for node in editing.nodes(model, "ConvTranspose"):
        sizes, wanted = editing.shape(node.inputs[0]), editing.shape(node.outputs[0])
        weights = editing.constant(node.inputs[1])
        if sizes is None or wanted is None or weights is None:
            continue
        spatial = len(sizes) - 2
        groups = node.attributes.get_int("group", 1)
        pads = list(node.attributes.get_ints("pads", [0] * 2 * spatial))
        more = list(node.attributes.get_ints("output_padding", [0] * spatial))
        automatic = node.attributes.get_string("auto_pad", "NOTSET")
        if automatic not in ("NOTSET", "VALID") or "output_shape" in node.attributes:
            continue
        if groups == 1 and not any(pads) and not any(more):
            continue
        _rewritten(node, weights, groups, sizes, wanted, pads[:spatial])
        done += 1
    return done


def _rewritten(
    node: onnx_ir.Node,
    weights: np.ndarray,
    groups: int,
    sizes: Sequence[int],
    wanted: Sequence[int],
    begin: Sequence[int],
) -> None:
    like, spatial = node.outputs[0], len(sizes) - 2
    strides = list(node.attributes.get_ints("strides", [1] * spatial))
    dilations = list(node.attributes.get_ints("dilations", [1] * spatial))
    full = [
        stride * (size - 1) + (kernel - 1) * dilation + 1
        for stride, size, kernel, dilation in zip(strides, sizes[2:], weights.shape[2:], dilations, strict=True)
    ]
    attributes = {"strides": strides, "dilations": dilations}
    value = _convolved(node, weights, groups, [sizes[0], wanted[1], *full], attributes)
    value = _cut(node, value, [sizes[0], wanted[1], *full], list(wanted), begin)
    if len(node.inputs) > 2 and node.inputs[2] is not None:
        shape = editing.known(node.graph, np.asarray([1, wanted[1], *([1] * spatial)], np.int64), like)
        bias = editing.before(node, "Reshape", [node.inputs[2], shape], shape=[1, wanted[1], *([1] * spatial)])
        editing.replace(node, "Add", [value, bias])
    else:
        editing.replace(node, "Identity", [value])


def _convolved(
    node: onnx_ir.Node, weights: np.ndarray, groups: int, shape: Sequence[int], attributes: dict[str, list[int]]
) -> onnx_ir.Value:
    """The convolution of each group, joined."""
    source, like = node.inputs[0], node.outputs[0]
    if groups == 1:
        return editing.before(node, "ConvTranspose", [source, node.inputs[1]], attributes, shape)
    sizes = editing.shape(source) or ()
    channels, parts = sizes[1] // groups, []
    for group in range(groups):
        places = np.arange(group * channels, (group + 1) * channels, dtype=np.int32)
        some = editing.before(
            node,
            "Gather",
            [source, editing.known(node.graph, places, like)],
            {"axis": 1},
            [sizes[0], channels, *sizes[2:]],
        )
        kernel = editing.known(node.graph, weights[group * channels : (group + 1) * channels], like)
        part = [shape[0], weights.shape[1], *shape[2:]]
        parts.append(editing.before(node, "ConvTranspose", [some, kernel], attributes, part))
    return editing.before(node, "Concat", parts, {"axis": 1}, shape)


def _cut(
    node: onnx_ir.Node, value: onnx_ir.Value, full: Sequence[int], wanted: list[int], begin: Sequence[int]
) -> onnx_ir.Value:
    """The wanted part of the full result, with zeros where that ends too soon."""
    like, spatial = node.outputs[0], len(full) - 2
    ends = [min(start + size, whole) for start, size, whole in zip(begin, wanted[2:], full[2:], strict=True)]
    held = [*full[:2], *(end - start for start, end in zip(begin, ends, strict=True))]
    if held != list(full):
        rows = [np.asarray(row, np.int64) for row in (list(begin), ends, list(range(2, 2 + spatial)))]
        value = editing.before(node, "Slice", [value, *(editing.known(node.graph, r, like) for r in rows)], shape=held)
    short = [size - have for size, have in zip(wanted, held, strict=True)]
    if any(short):
        by = editing.known(node.graph, np.asarray([0] * len(full) + short, np.int64), like)
        value = editing.before(node, "Pad", [value, by], {"mode": "constant"}, wanted)
    return value

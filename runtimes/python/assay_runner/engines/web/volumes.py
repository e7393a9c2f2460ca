"""Convolutions along three axes as browsers have them: along two.

What a window covers of the first of the three axes becomes channels, and where it lies there more images.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import onnx_ir

from assay_runner.exporting.steps import editing


def flatten(model: onnx_ir.Model) -> int:
    """Rewrites convolutions of one group along three axes, with known kernels."""
    done = 0
    for node in editing.nodes(model, "Conv"):
        sizes, wanted = editing.shape(node.inputs[0]), editing.shape(node.outputs[0])
        weights = editing.constant(node.inputs[1])
        if sizes is None or wanted is None or weights is None or len(sizes) != 5:
            continue
        automatic = node.attributes.get_string("auto_pad", "NOTSET")
        if node.attributes.get_int("group", 1) != 1 or automatic not in ("NOTSET", "VALID"):
            continue
        _rewritten(node, weights, sizes, wanted)
        done += 1
    return done


def _rewritten(node: onnx_ir.Node, weights: np.ndarray, sizes: Sequence[int], wanted: Sequence[int]) -> None:
    like = node.outputs[0]
    pads = list(node.attributes.get_ints("pads", [0] * 6))
    strides, dilations = (list(node.attributes.get_ints(name, [1] * 3)) for name in ("strides", "dilations"))
    deep = weights.shape[2]
    value = _layers(node, sizes, pads, _places(wanted[2], deep, strides[0], dilations[0]))
    few = [sizes[0] * wanted[2], sizes[1] * deep, *sizes[3:]]
    value = _moved(node, value, [sizes[0], sizes[1], wanted[2], deep * sizes[3] * sizes[4]], few)
    kernel = editing.known(node.graph, weights.reshape(weights.shape[0], -1, *weights.shape[3:]), like)
    attributes = {"strides": strides[1:], "dilations": dilations[1:], "pads": [*pads[1:3], *pads[4:]]}
    shape = [few[0], wanted[1], *wanted[3:]]
    value = editing.before(node, "Conv", [value, kernel, *node.inputs[2:]], attributes, shape)
    value = _moved(node, value, [sizes[0], wanted[2], wanted[1], wanted[3] * wanted[4]], wanted)
    editing.replace(node, "Identity", [value])


def _places(count: int, deep: int, stride: int, dilation: int) -> np.ndarray:
    """The layers that each window covers, one window after the other."""
    return (stride * np.arange(count)[:, None] + dilation * np.arange(deep)).reshape(-1).astype(np.int32)


def _layers(node: onnx_ir.Node, sizes: Sequence[int], pads: Sequence[int], places: np.ndarray) -> onnx_ir.Value:
    """The layers at these places, with zeros before the first and after the last as the convolution has them."""
    value, shape = node.inputs[0], list(sizes)
    if pads[0] or pads[3]:
        shape[2] += pads[0] + pads[3]
        around = np.asarray([0, 0, pads[0], 0, 0, 0, 0, pads[3], 0, 0], np.int64)
        known = editing.known(node.graph, around, node.outputs[0])
        value = editing.before(node, "Pad", [value, known], {"mode": "constant"}, shape)
    if places.tolist() == list(range(shape[2])):
        return value
    shape[2] = len(places)
    return editing.before(
        node, "Gather", [value, editing.known(node.graph, places, node.outputs[0])], {"axis": 2}, shape
    )


def _moved(node: onnx_ir.Node, value: onnx_ir.Value, apart: Sequence[int], shape: Sequence[int]) -> onnx_ir.Value:
    """A value of these four axes with the second and third one exchanged, in another shape."""
    if apart[1] > 1 and apart[2] > 1:
        value = _reshaped(node, value, apart)
        turned = [apart[0], apart[2], apart[1], apart[3]]
        value = editing.before(node, "Transpose", [value], {"perm": [0, 2, 1, 3]}, turned)
    return _reshaped(node, value, shape)


def _reshaped(node: onnx_ir.Node, value: onnx_ir.Value, shape: Sequence[int]) -> onnx_ir.Value:
    target = editing.known(node.graph, np.asarray(shape, np.int64), node.outputs[0])
    return editing.before(node, "Reshape", [value, target], shape=shape)

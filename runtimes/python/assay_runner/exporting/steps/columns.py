"""Images put together of columns."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np
import onnx_ir

from assay_runner.exporting.steps import editing


def to_transposes(model: onnx_ir.Model) -> int:
    """Col2Im of blocks of two axes that lie side by side becomes a transpose between reshapes."""
    done = 0
    for node in editing.nodes(model, "Col2Im"):
        image, block = (editing.constant(value) for value in node.inputs[1:3])
        columns, wanted = editing.shape(node.inputs[0]), editing.shape(node.outputs[0])
        if image is None or block is None or columns is None or wanted is None or image.size != 2:
            continue
        if list(node.attributes.get_ints("strides", [1, 1])) != block.tolist() or (image % block).any():
            continue
        if any(node.attributes.get_ints("pads", [0])) or set(node.attributes.get_ints("dilations", [1])) != {1}:
            continue
        high, wide = (int(n) for n in block)
        apart = [prod(wanted[:2]), high, wide, wanted[2] // high, wanted[3] // wide]
        value = editing.before(node, "Reshape", [node.inputs[0], _numbers(node, apart)], shape=apart)
        order = [0, 3, 1, 4, 2]
        value = editing.before(node, "Transpose", [value], {"perm": order}, [apart[axis] for axis in order])
        editing.replace(node, "Reshape", [value, _numbers(node, wanted)])
        done += 1
    return done


def _numbers(node: onnx_ir.Node, numbers: Sequence[int]) -> onnx_ir.Value:
    return editing.known(node.graph, np.asarray(numbers, np.int64), node.outputs[0])

"""Widens weights of few bits again: what a product with packed weights (MatMulNBits) means.

The layout is that of ONNX Runtime's operator. A matrix of K rows and N columns is kept column by column, each in blocks
along K that share a scale and a zero point; numbers of 4 bits lie two in a byte, the lower one first.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx_ir

from assay_runner.exporting import writing
from assay_runner.exporting.steps import editing

PACKED = "MatMulNBits"
_BYTE = 8
_ZEROS, _BIAS = 3, 5  # which inputs of the operator they are


def widened(graph: Path, folder: Path) -> Path:
    """Writes the graph with plain products in place of those with packed weights."""
    model = onnx_ir.load(graph)
    for node in list(model.graph):
        if node.op_type == PACKED:
            _replace(node)
    writing.write(model, folder)
    return folder / writing.FILE


def _replace(node: onnx_ir.Node) -> None:
    """Puts a plain product in the place of a packed one."""
    node.outputs[0].dtype = node.outputs[0].dtype or onnx_ir.DataType.FLOAT  # which not every quantiser says
    matrix = editing.known(node.graph, _matrix(node), node.outputs[0])
    bias = node.inputs[_BIAS] if len(node.inputs) > _BIAS else None
    if bias is None:
        editing.replace(node, "MatMul", [node.inputs[0], matrix])
    else:
        editing.replace(node, "Add", [editing.before(node, "MatMul", [node.inputs[0], matrix]), bias])


def _matrix(node: onnx_ir.Node) -> np.ndarray:
    """The matrix of a product, K by N, in float32."""
    rows, columns, bits, block = (int(node.attributes[name].value) for name in ("K", "N", "bits", "block_size"))
    packed, scales = node.inputs[1].const_value.numpy(), node.inputs[2].const_value.numpy()
    blocks = -(-rows // block)
    numbers = unpacked(packed.reshape(columns, blocks, -1), bits)[..., :block].astype(np.float32)
    zeros = _zeros(node, columns, blocks, bits)
    wide = (numbers - zeros[..., None]) * scales.reshape(columns, blocks, 1).astype(np.float32)
    return np.ascontiguousarray(wide.reshape(columns, blocks * block)[:, :rows].T)


def _zeros(node: onnx_ir.Node, columns: int, blocks: int, bits: int) -> np.ndarray:
    """The zero point of each block: the middle where none is given."""
    given = node.inputs[_ZEROS] if len(node.inputs) > _ZEROS else None
    if given is None:
        return np.full((columns, blocks), float(1 << (bits - 1)), np.float32)
    array = given.const_value.numpy()
    if array.dtype != np.uint8:
        return array.reshape(columns, blocks).astype(np.float32)
    return unpacked(array.reshape(columns, -1), bits)[:, :blocks].astype(np.float32)


def unpacked(array: np.ndarray, bits: int) -> np.ndarray:
    """The numbers in the bytes along the last axis, the lower bits first."""
    each = _BYTE // bits
    shifts = np.arange(each, dtype=np.uint8) * bits
    parts = (array[..., None] >> shifts) & ((1 << bits) - 1)
    return parts.reshape(*array.shape[:-1], array.shape[-1] * each)

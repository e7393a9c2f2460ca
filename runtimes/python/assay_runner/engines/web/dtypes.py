"""What each dtype of a cell does to a graph for browsers, and what the platform there must have for it.

Half precision is the whole graph in 16 bits, its inputs and outputs as they were. Weights of 8 or 4 bits are kept in
blocks that share a scale, and computed with by one operator (MatMulNBits); everything else stays in float32.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field

import onnx
import onnx_ir
import onnxruntime
from onnx_ir.passes import common

from assay_runner.errors import UnsupportedDType
from assay_runner.exporting.quieting import quiet

BLOCK = 32
"""Weights that share a scale where nobody says how many: tiny models have rows no longer than that."""


@dataclass(frozen=True)
class Blocks:
    """How weights of few bits are kept and computed with. The accuracy level is MatMulNBits': 0 computes in float32, 4
    rounds activations to 8 bits."""

    block_size: int = BLOCK
    accuracy_level: int = 0


_INFERRED_BYTES = 1 << 30  # onnx infers types of what a protobuf holds; exporters tell those of larger graphs

Convert = Callable[[onnx.ModelProto, Blocks], onnx.ModelProto]


@dataclass(frozen=True)
class Numbers:
    """A row: what is done to the graph, how many bits weights are left, and what a platform must tell that it has."""

    convert: Convert | None = None
    bits: Mapping[str, int] = field(default_factory=dict)
    needs: Mapping[str, str] = field(default_factory=dict)  # platform → a feature; "" where it has none such

    def settings(self, blocks: Blocks) -> dict[str, int]:
        """What a result tells of it."""
        return {**asdict(blocks), **self.bits} if self.bits else {}


def half(model: onnx.ModelProto, _blocks: Blocks) -> onnx.ModelProto:
    """The graph in 16 bits."""
    from onnxruntime.transformers import float16

    known = sum(len(tensor.raw_data) for tensor in model.graph.initializer) > _INFERRED_BYTES
    return float16.convert_float_to_float16(model, keep_io_types=True, disable_shape_infer=known)


def _enough(model: onnx.ModelProto, least: int, bits: int) -> list[str]:
    """The products whose matrices are rounded: a model with fewer would be one of 32 bits under another name."""
    names = products(model)
    if len(names) < least:
        raise UnsupportedDType(
            f"the model has {len(names)} products with a known matrix, and {bits}-bit weights are only for those"
        )
    return names


def weights_of_8_bits(model: onnx.ModelProto, blocks: Blocks) -> onnx.ModelProto:
    """Every product with a known matrix, that matrix in 8 bits."""
    _enough(model, 1, 8)
    return _kept(model, 8, (), blocks)


def weights_of_4_bits(model: onnx.ModelProto, blocks: Blocks) -> onnx.ModelProto:
    """The same in 4 bits, but for the first and the last product, which carry most of the error and keep 8."""
    names = _enough(model, 3, 4)
    ends = {*names[:1], *names[-1:]}
    wide = _kept(model, 8, [name for name in names if name not in ends], blocks)
    return _kept(wide, 4, (), blocks)


NUMBERS: Mapping[str, Numbers] = {
    "fp32": Numbers(),
    "fp16": Numbers(half, needs={"webgpu": "shader-f16", "webnn": "float16", "cpu": ""}),
    "w8": Numbers(weights_of_8_bits, {"bits": 8}),
    "w4": Numbers(weights_of_4_bits, {"bits": 4, "bits_of_ends": 8}),
}
"""The cell's dtype → what it is in a browser."""


def numbers(dtype: str) -> Numbers:
    """The row of a dtype."""
    if dtype not in NUMBERS:
        raise UnsupportedDType(f"no browser computes in {dtype}: there are {', '.join(NUMBERS)}")
    return NUMBERS[dtype]


def confirm(dtype: str, platform: str, features: Sequence[str]) -> None:
    """Raises where the platform lacks what the dtype needs."""
    feature = NUMBERS[dtype].needs.get(platform)
    if feature is None or feature in features:
        return
    lacks = f"it has no {feature}" if feature else "ONNX Runtime Web has too few operators for it there"
    raise UnsupportedDType(f"{platform} does not compute in {dtype} in this browser: {lacks}")


def convert(model: onnx_ir.Model, dtype: str, blocks: Blocks | None = None) -> onnx_ir.Model:
    """The graph in the numbers of a dtype."""
    row = numbers(dtype)
    if row.convert is None:
        return model
    common.NameFixPass()(model)  # nodes are told apart by their names
    onnx_ir.external_data.load_to_model(model)
    with quiet(logging.WARNING):
        return onnx_ir.from_proto(row.convert(onnx_ir.to_proto(model), blocks or Blocks()))


def versions() -> dict[str, str]:
    """Of what converts: a graph that another one made is another graph."""
    return {"onnxruntime": onnxruntime.__version__}


def products(model: onnx.ModelProto) -> list[str]:
    """The names of the products with a known matrix, in order."""
    known = {tensor.name for tensor in model.graph.initializer}
    return [node.name for node in model.graph.node if node.op_type == "MatMul" and node.input[1] in known]


def _kept(model: onnx.ModelProto, bits: int, left: Sequence[str], blocks: Blocks) -> onnx.ModelProto:
    """The graph with the matrices of its products in blocks of this many bits, but for those of the named products."""
    from onnxruntime.quantization.matmul_nbits_quantizer import MatMulNBitsQuantizer

    quantiser = MatMulNBitsQuantizer(model, bits=bits, nodes_to_exclude=list(left), **asdict(blocks))
    quantiser.process()
    return quantiser.model.model

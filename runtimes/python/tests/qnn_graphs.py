"""Small graphs that the HTP computes wrongly, or not at all, until a step has rewritten them; and some that look alike.

Each is run by ONNX Runtime's CPU and by Qualcomm's emulator.
"""

import platform
import sys

import numpy as np
import onnx
import onnxruntime
from qnn_plainer_graphs import PLAINER_CASES, Case

from assay_runner.engines.contract import Asked
from assay_runner.engines.onnxruntime.session import options
from assay_runner.engines.qnn import (
    activations,
    convolutions,
    exponents,
    norms,
    provider,
    results,
    softmaxes,
    tiles,
    truths,
)
from assay_runner.exporting.steps import clips, einsums, equalities, gathers, powers, remainders

EMULATED = (sys.platform, platform.machine()) == ("linux", "x86_64")
HEAD = '<ir_version: 10, opset_import: ["" : 20]>\n'
DRAW = np.random.default_rng(7)


def drawn(*shape):
    return DRAW.normal(size=shape).astype(np.float32)


NORM = "y = LayerNormalization<axis = -1>(s, w, b)"
SCALE = {"w": np.ones(64, np.float32), "b": np.zeros(64, np.float32)}
X = "float[2, 16, 64] x"
NORM_BY_SQUARES = f"""g ({X}) => (float[2, 16, 64] y) {{
    p = Mul(x, x) m = ReduceMean(p, axes) e = Add(m, eps) r = Sqrt(e) q = Reciprocal(r) y = Mul(x, q)
}}"""
NORM_CONSTANTS = {"axes": np.array([-1]), "eps": np.float32(1e-6)}

CASES = (
    Case(
        "norm",
        norms.scaled,
        1,
        "g (float[2, 8] x) => (float[2, 1] y) { y = ReduceL2(x, axes) }",
        {"axes": np.array([1])},
        1e3,
    ),
    Case(
        "norm of zeros",
        norms.scaled,
        1,
        "g (float[2, 8] x) => (float[2, 1] y) { y = ReduceL2(x, axes) }",
        {"axes": np.array([1])},
        0.0,
    ),
    Case(
        "constant repeated before a norm",
        norms.spread_operands,
        1,
        f"g ({X}) => (float[2, 16, 64] y) {{ s = Add(x, c) {NORM} }}",
        SCALE | {"c": drawn(1, 16, 64)},
    ),
    Case(
        "value repeated before a norm",
        norms.spread_operands,
        1,
        f"g ({X}, float[1, 16, 64] c) => (float[2, 16, 64] y) {{ s = Mul(x, c) {NORM} }}",
        SCALE,
    ),
    Case(
        "value of fewer axes before a norm",
        norms.spread_operands,
        1,
        f"g ({X}, float[16, 64] c) => (float[2, 16, 64] y) {{ s = Add(c, x) {NORM} }}",
        SCALE,
    ),
    Case(
        "bias before a norm",
        norms.spread_operands,
        0,
        f"g ({X}) => (float[2, 16, 64] y) {{ s = Add(x, c) {NORM} }}",
        SCALE | {"c": drawn(64)},
    ),
    Case(
        "wide window",
        convolutions.widen,
        1,
        "g (float[1, 64, 24] x) => (float[1, 64, 24] y) { y = Conv<group = 16, pads = [9, 9]>(x, w) }",
        {"w": 0.1 * drawn(64, 4, 19)},
    ),
    Case(
        "narrow window",
        convolutions.widen,
        0,
        "g (float[1, 64, 24] x) => (float[1, 64, 24] y) { y = Conv<pads = [3, 3]>(x, w) }",
        {"w": 0.1 * drawn(64, 64, 7)},
    ),
    Case(
        "window with steps",
        convolutions.widen,
        0,
        "g (float[1, 64, 24] x) => (float[1, 64, 12] y) { y = Conv<pads = [4, 4], strides = [2]>(x, w) }",
        {"w": 0.1 * drawn(64, 64, 9)},
    ),
    Case(
        "places along axes of one",
        gathers.by_number,
        1,
        "g (float[16, 1, 1] x) => (float[16, 1] y) { y = GatherND(x, places) }",
        {"places": np.stack([np.arange(16)[::-1], np.zeros(16)], -1).astype(np.int64)},
    ),
    Case(
        "places from the end",
        gathers.by_number,
        1,
        "g (float[4, 5, 6] x) => (float[3, 6] y) { y = GatherND(x, places) }",
        {"places": np.array([[0, -1], [-4, 2], [3, 4]])},
    ),
    Case(
        "limits of whole numbers",
        clips.to_limits,
        1,
        "g (float[16] x) => (int32[16] y) { a = Cast<to = 6>(x) y = Clip(a, low, high) }",
        {"low": np.int32(-2), "high": np.int32(3)},
        4.0,
    ),
    Case(
        "whole outputs",
        results.through_32_bits,
        1,
        "g (float[4, 8] x) => (int64[1, 4] y) { a = ArgMax<axis = -1>(x) y = Transpose<perm = [1, 0]>(a) }",
    ),
    Case(
        "places of the largest",
        results.through_32_bits,
        0,
        "g (float[4, 8] x) => (int64[4, 1] y) { y = ArgMax<axis = -1, keepdims = 1>(x) }",
    ),
    Case(
        "limits of numbers",
        clips.to_limits,
        0,
        "g (float[16] x) => (float[16] y) { y = Clip(x, low) }",
        {"low": np.float32(0)},
    ),
    Case(
        "tanh of a product",
        activations.apart,
        1,
        "g (float[4, 64] x) => (float[4, 32] y) { p = MatMul(x, w) s = Add(p, b) y = Tanh(s) }",
        {"w": 0.2 * drawn(64, 32), "b": drawn(32)},
    ),
    Case(
        "silu of a product",
        activations.apart,
        1,
        "g (float[4, 64] x) => (float[4, 32] y) { s = MatMul(x, w) g = Sigmoid(s) y = Mul(s, g) }",
        {"w": 0.2 * drawn(64, 32)},
    ),
    Case("tanh alone", activations.apart, 0, "g (float[4, 64] x) => (float[4, 64] y) { y = Tanh(x) }"),
    Case(
        "wide softmax",
        softmaxes.less_largest,
        1,
        "g (float[2, 4, 2000] x) => (float[2, 4, 2000] y) { y = Softmax<axis = -1>(x) }",
        {},
        30.0,
    ),
    Case(
        "booleans joined",
        truths.join_as_numbers,
        1,
        "g (float[2, 16] x) => (float[2, 32] y) { a = Greater(x, o) b = Concat<axis = -1>(a, c) y = Where(b, i, o) }",
        {"o": np.float32(0), "i": np.float32(1), "c": np.ones((2, 16), bool)},
    ),
    Case(
        "numbers joined",
        truths.join_as_numbers,
        0,
        "g (float[2, 16] x) => (float[2, 32] y) { y = Concat<axis = -1>(x, x) }",
    ),
    Case(
        "repeats of five axes",
        tiles.of_few_axes,
        1,
        """g (float[2, 4, 1, 3, 1] x) => (float[2, 12, 1, 3, 5] y) {
            a = Cast<to = 7>(x) b = Tile(a, times) y = Cast<to = 1>(b)
        }""",
        {"times": np.array([1, 3, 1, 1, 5])},
        9.0,
    ),
    Case(
        "repeats of four axes",
        tiles.of_few_axes,
        0,
        "g (float[2, 4, 3, 1] x) => (float[2, 12, 3, 5] y) { y = Tile(x, times) }",
        {"times": np.array([1, 3, 1, 5])},
    ),
    Case(
        "remainders",
        remainders.by_quotients,
        1,
        "g (float[4, 16] x) => (int32[4, 16] y) { a = Cast<to = 6>(x) b = Mul(a, c) y = Mod(b, d) }",
        {"c": np.int32(43), "d": np.int32(16384)},
        3e3,
    ),
    Case(
        "remainders by ones that are given",
        remainders.by_quotients,
        1,
        """g (float[4, 16] x, float[4, 16] z) => (int32[4, 16] y) {
            a = Cast<to = 6>(x) b = Mul(a, m) e = Cast<to = 6>(z) f = Mul(e, t) d = Add(f, c) y = Mod(b, d)
        }""",
        {"c": np.int32(1), "m": np.int32(43), "t": np.int32(2)},
        3e3,
    ),
    Case(
        "remainders of numbers that are not whole",
        remainders.by_quotients,
        0,
        "g (float[4, 16] x) => (float[4, 16] y) { y = Mod<fmod = 1>(x, d) }",
        {"d": np.float32(3)},
    ),
    Case(
        "exponents far below zero",
        exponents.limited,
        1,
        "g (float[4, 64] x) => (float[4, 64] y) { a = Abs(x) n = Neg(a) y = Exp(n) }",
        {},
        300.0,
    ),
    Case("softplus", exponents.softplus, 1, "g (float[4, 64] x) => (float[4, 64] y) { y = Softplus(x) }"),
    Case(
        "softplus far below zero",
        exponents.softplus,
        1,
        "g (float[4, 64] x) => (float[4, 64] y) { y = Softplus(x) }",
        {},
        300.0,
    ),
    Case(
        "hard swish of small numbers",
        activations.hard_swish,
        1,
        "g (float[4, 64] x) => (float[4, 64] y) { y = HardSwish(x) }",
        {},
        5e-5,
    ),
    Case("hard swish", activations.hard_swish, 1, "g (float[4, 64] x) => (float[4, 64] y) { y = HardSwish(x) }"),
    *(
        Case(f"norm by squares, {name}", norms.scaled_squares, 1, NORM_BY_SQUARES, NORM_CONSTANTS, scale)
        for name, scale in (("small", 1e-3), ("usual", 1.0), ("large", 2e3), ("near the end", 8e3), ("of zeros", 0.0))
    ),
    Case(
        "norm of powers",
        powers.to_products,
        1,
        f"""g ({X}) => (float[2, 16, 64] y) {{
            p = Pow(x, two) m = ReduceMean(p, axes) e = Add(m, eps) r = Sqrt(e) q = Reciprocal(r)
            n = Mul(x, q) y = Mul(w, n)
        }}""",
        NORM_CONSTANTS | {"two": np.float32(2), "w": np.ones(64, np.float32)},
    ),
    Case(
        "sums of products",
        einsums.to_products,
        1,
        'g (float[2, 8] x, float[2, 4, 8] z) => (float[2, 4] y) { y = Einsum<equation = "bd,bkd->bk">(x, z) }',
    ),
    Case(
        "truth values gathered whole",
        gathers.to_reshapes,
        1,
        "g (float[1, 4] x) => (float[2, 3, 1, 4] y) { a = Greater(x, o) b = GatherND(a, places) y = Where(b, i, o) }",
        {
            "o": np.float32(0),
            "i": np.float32(1),
            "places": np.stack(np.broadcast_arrays(np.zeros((2, 3, 1, 4), np.int64), np.arange(4)), axis=-1),
        },
    ),
    Case(
        "truth values compared",
        equalities.compare_numbers,
        1,
        """g (float[4, 16] x) => (float[4, 16] y) {
            a = Greater(x, o) b = Less(x, i) c = Equal(a, b) y = Where(c, i, o)
        }""",
        {"o": np.float32(0), "i": np.float32(1)},
    ),
    Case(
        "norm of two",
        norms.scaled_squares,
        0,
        "g (float[2, 8] x) => (float[2, 1] y) { a = Exp(x) p = Mul(a, b) m = ReduceMean(p, axes) y = Sqrt(m) }",
        {"axes": np.array([1]), "b": np.float32(2)},
    ),
    *PLAINER_CASES,
)


def built(case):
    proto = onnx.parser.parse_model(HEAD + case.text)
    proto.graph.initializer.extend(onnx.numpy_helper.from_array(np.asarray(a), n) for n, a in case.constants.items())
    return onnx.shape_inference.infer_shapes(proto)


def feeds(proto, scale):
    draw = np.random.default_rng(0)
    shapes = {i.name: [d.dim_value for d in i.type.tensor_type.shape.dim] for i in proto.graph.input}
    # What fp16 holds exactly: the rounding of inputs is not the question here.
    return {n: (scale * draw.normal(size=s)).astype(np.float16).astype(np.float32) for n, s in shapes.items()}


def on_cpu(proto, given):
    return onnxruntime.InferenceSession(proto.SerializeToString()).run(None, given)[0]


def on_htp(proto, given):
    """What the emulator gives; an error where it does not take every node."""
    asked = Asked("qnn", "", "fp16", 1)
    making = options(asked)
    making.add_session_config_entry("session.disable_cpu_ep_fallback", "1")
    session = provider.provider(asked).session(proto.SerializeToString(), making)
    session.disable_fallback()  # else the CPU would answer for a device that fails
    return session.run(None, given)[0]


def near(found, expected):
    """Whether numbers are the same as far as fp16 goes."""
    return bool(np.abs(found - expected).max() <= 2.5e-3 * max(np.abs(expected).max(), 1e-6))

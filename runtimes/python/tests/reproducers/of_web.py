"""Faults of ONNX Runtime Web and of the browsers that it asks, seen in a page.

Only the program opens pages: `TestIntegrationReproducers` of cmd/assay runs these, and says where its pages are.
"""

import os
import tempfile
from functools import cache
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest

from assay_runner.engines.web import placing
from assay_runner.engines.web.page import Page
from assay_runner.errors import PageError

HEAD = '<ir_version: 10, opset_import: ["" : 20]>\n'
_SECONDS = 120.0


def _wrong(platform, text, near=1e-3, **constants):
    """Whether a platform refuses a graph, leaves a node of it to the processor, or gives other numbers."""
    address = os.environ.get(f"ASSAY_TEST_PAGE_{platform.upper()}")
    if not address:
        pytest.skip("needs a page: TestIntegrationReproducers of cmd/assay opens them")
    assert _computes(platform, address), f"{platform} does not compute anything here"
    return not _right(platform, address, text, constants, near)


@cache
def _computes(platform, address):
    return _right(platform, address, "g (float[2, 3] x) => (float[2, 3] y) { y = Abs(x) }", {})


def _right(platform, address, text, constants, near=1e-3):
    proto = onnx.parser.parse_model(HEAD + text)
    proto.graph.initializer.extend(onnx.numpy_helper.from_array(np.asarray(a), n) for n, a in constants.items())
    proto = onnx.shape_inference.infer_shapes(proto)
    given = {"x": np.random.default_rng(0).normal(size=_shape(proto)).astype(np.float32)}
    expected = onnxruntime.InferenceSession(proto.SerializeToString()).run(None, given)[0]
    page = Page(address)
    with tempfile.TemporaryDirectory() as folder:
        graph = Path(folder) / "model.onnx"
        onnx.save(proto, graph)
        try:
            found, nodes = _ran(page, platform, graph, given)
        except PageError:
            return False
    return set(nodes) == {platform} and np.allclose(found, expected, atol=near)


def _shape(proto):
    return [axis.dim_value for axis in proto.graph.input[0].type.tensor_type.shape.dim]


def _ran(page, platform, graph, given):
    """The output, and how many nodes ran where."""
    asked = {"platform": platform, "device": "", "threads": 1, "options": {}, "warm": False, "verbose": True}
    told, _ = page.call("create", _SECONDS, files={graph.name: graph}, graph=graph.name, **asked)
    page.call("bind", _SECONDS, given, front_end=None, tuned=[])
    page.call("run", _SECONDS)
    _, found = page.call("outputs", _SECONDS)
    return found["y"], placing.read(told["log"], platform).nodes


def webnn_gathers_elements_by_constants_only():
    text = """g (float[4, 4] x) => (float[4, 4] y) {
        i = Cast<to = 6>(x) j = Mul(i, o) y = GatherElements<axis = 1>(x, j)
    }"""
    return _wrong("webnn", text, o=np.int32(0))


def webnn_scatters_by_constants_only():
    text = """g (float[4, 4] x) => (float[4, 4] y) {
        i = Cast<to = 6>(x) n = Mul(i, o) j = Add(n, c) y = ScatterElements<axis = 1>(x, j, u)
    }"""
    places = np.tile(np.arange(4, dtype=np.int32)[::-1], (4, 1))
    return _wrong("webnn", text, o=np.int32(0), c=places, u=np.ones((4, 4), np.float32))


def webnn_gives_the_exact_gelu():
    return _wrong("webnn", 'g (float[64, 64] x) => (float[64, 64] y) { y = Gelu<approximate="tanh">(x) }', near=1e-5)


def webnn_pads_no_edges():
    text = 'g (float[1, 1, 3, 3] x) => (float[1, 1, 5, 5] y) { y = Pad<mode = "edge">(x, p) }'
    return _wrong("webnn", text, p=np.int64([0, 0, 1, 1, 0, 0, 1, 1]))


def webnn_transposes_no_grouped_convolutions():
    text = """g (float[1, 4, 5, 5] x) => (float[1, 4, 9, 9] y) {
        y = ConvTranspose<group = 2, strides = [2, 2], pads = [1, 1, 1, 1]>(x, w)
    }"""
    return _wrong("webnn", text, w=np.ones((4, 2, 3, 3), np.float32))


def webnn_resizes_by_one_rule():
    text = """g (float[1, 1, 4, 4] x) => (float[1, 1, 8, 8] y) {
        y = Resize<mode = "linear", coordinate_transformation_mode = "align_corners">(x, , s)
    }"""
    return _wrong("webnn", text, s=np.float32([1, 1, 2, 2]))


def webgpu_negates_no_whole_numbers():
    return _wrong("webgpu", "g (float[4] x) => (float[4] y) { i = Cast<to = 6>(x) n = Neg(i) y = Cast<to = 1>(n) }")


def webnn_clips_no_whole_numbers():
    text = "g (float[4] x) => (float[4] y) { i = Cast<to = 6>(x) n = Clip(i, l, h) y = Cast<to = 1>(n) }"
    return _wrong("webnn", text, l=np.int32(-1), h=np.int32(1))


def webnn_takes_no_remainders():
    text = "g (float[4] x) => (float[4] y) { i = Cast<to = 6>(x) n = Mod(i, d) y = Cast<to = 1>(n) }"
    return _wrong("webnn", text, d=np.int32(3))


def webnn_convolves_along_two_axes():
    text = "g (float[1, 2, 3, 4, 4] x) => (float[1, 2, 1, 2, 2] y) { y = Conv(x, w) }"
    return _wrong("webnn", text, w=np.ones((2, 2, 3, 3, 3), np.float32))


def webnn_has_no_asinh():
    return _wrong("webnn", "g (float[4] x) => (float[4] y) { y = Asinh(x) }")


def webnn_chooses_along_four_axes():
    text = "g (float[2, 3, 2, 4, 5] x) => (float[2, 3, 2, 4, 5] y) { a = Greater(x, o) y = Where(a, x, c) }"
    return _wrong("webnn", text, o=np.float32(0), c=np.ones((3, 1, 4, 1), np.float32))


def webnn_pools_along_two_axes():
    text = "g (float[1, 2, 8] x) => (float[1, 2, 4] y) { y = MaxPool<kernel_shape = [2], strides = [2]>(x) }"
    return _wrong("webnn", text)


def webnn_makes_no_images_of_columns():
    text = "g (float[1, 8, 6] x) => (float[1, 2, 4, 6] y) { y = Col2Im<strides = [2, 2]>(x, i, b) }"
    return _wrong("webnn", text, i=np.int64([4, 6]), b=np.int64([2, 2]))


def webnn_casts_truth_values_to_bytes():
    return _wrong("webnn", "g (float[2, 8] x) => (float[2, 8] y) { b = Cast<to = 9>(x) y = Cast<to = 1>(b) }")


def webgpu_broadcasts_all_conjunctions_alike():
    text = """g (float[2, 3, 4] x) => (float[2, 3, 4] y) {
        c = Greater(x, o) p = Greater(u, o) q = Greater(v, o)
        d = And(c, p) e = And(c, q) f = Or(d, e) y = Cast<to = 1>(f)
    }"""
    u, v = np.float32([1, -1]).reshape(2, 1, 1), np.float32([-1, 1, 1, -1])
    return _wrong("webgpu", text, o=np.float32(-0.5), u=u, v=v)


def webgpu_convolves_threes_wrongly():
    weights = np.random.default_rng(1).normal(size=(8, 9, 3)).astype(np.float32)
    return _wrong("webgpu", "g (float[1, 9, 20] x) => (float[1, 8, 18] y) { y = Conv(x, w) }", w=weights)

"""The web platforms: frames, placement read off real logs, and the steps that browsers need."""

from __future__ import annotations

import dataclasses
import json
import os
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import onnx_ir
import onnxruntime
import pytest

from assay_runner.engines import timing
from assay_runner.engines.web import convolutions, elements, integers, placing, rewrites, spatial
from assay_runner.engines.web import page as web_page
from assay_runner.engines.web.backend import PageClock, created
from assay_runner.errors import BrokenDown, PageError, PageLost, PageTimeout, RefusedGraph, TooLarge
from assay_runner.exporting.steps import functions, scatters

# Lines of ONNX Runtime Web 1.30.0 for a tiny BERT, in Chromium 153; the nodes in the middle are left out.
WEBGPU = """\
2026-11-15 13:53:44.256915 [I:onnxruntime:, webgpu_execution_provider.cc:665 GetCapability] webgpu kernel not found in registries for Op type: Cast node name: node__to_copy
2026-11-15 13:53:44.263750 [I:onnxruntime:, webgpu_execution_provider.cc:665 GetCapability] webgpu kernel not found in registries for Op type: ReduceMax node name: node_ReduceMax_72
2026-11-15 13:53:44.601965 [V:onnxruntime:, session_state.cc:1383 VerifyEachNodeIsAssignedToAnEp]  Node(s) placed on [CPUExecutionProvider]. Number of nodes: 3
2026-11-15 13:53:44.602004 [V:onnxruntime:, session_state.cc:1385 VerifyEachNodeIsAssignedToAnEp]   Cast (node__to_copy)
2026-11-15 13:53:44.602020 [V:onnxruntime:, session_state.cc:1385 VerifyEachNodeIsAssignedToAnEp]   ReduceMax (node_ReduceMax_72)
2026-11-15 13:53:44.602044 [V:onnxruntime:, session_state.cc:1385 VerifyEachNodeIsAssignedToAnEp]   Cast (node_any_1)
2026-11-15 13:53:44.602060 [V:onnxruntime:, session_state.cc:1383 VerifyEachNodeIsAssignedToAnEp]  Node(s) placed on [WebGpuExecutionProvider]. Number of nodes: 90
2026-11-15 13:53:44.602085 [V:onnxruntime:, session_state.cc:1385 VerifyEachNodeIsAssignedToAnEp]   Gather (node_embedding)
2026-11-15 13:53:44.602099 [V:onnxruntime:, session_state.cc:1385 VerifyEachNodeIsAssignedToAnEp]   MemcpyToHost (Memcpy)
"""  # noqa: E501
WEBNN = """\
2026-11-15 13:53:30.548385 [I:onnxruntime:, webnn_execution_provider.cc:158 GetCapability] WebNNExecutionProvider::GetCapability, number of partitions supported by WebNN: 1 number of nodes in the graph: 91 number of nodes supported by WebNN: 91
2026-11-15 13:53:30.718669 [V:onnxruntime:, session_state.cc:1380 VerifyEachNodeIsAssignedToAnEp]  All nodes placed on [WebNNExecutionProvider]. Number of nodes: 1
"""  # noqa: E501


def test_nodes_that_webgpu_leaves_to_the_cpu_are_named() -> None:
    placement = placing.read(WEBGPU.splitlines(), "webgpu")
    assert placement is not None
    assert placement.nodes == {"wasm": 3, "webgpu": 89}  # a copy between the two is not a node of the model
    assert [(row.operator, row.count, row.why) for row in placement.left_over] == [
        ("Cast", 2, "no kernel for these types"),
        ("ReduceMax", 1, "no kernel for these types"),
    ]


def test_nodes_that_webnn_joined_are_counted() -> None:
    placement = placing.read([WEBNN], "webnn")
    assert placement is not None
    assert (placement.nodes, placement.left_over) == ({"webnn": 91}, [])


def test_the_nodes_of_several_sessions_are_added_up() -> None:
    found = placing.read([*WEBNN.splitlines(), *WEBNN.splitlines()], "webnn")
    assert found is not None
    assert found.nodes == {"webnn": 182}


def test_nodes_that_are_all_elsewhere_are_left_over() -> None:
    placement = placing.read([WEBNN.splitlines()[1].replace("WebNNExecution", "CPUExecution")], "webnn")
    assert placement is not None
    assert placement.nodes == {"wasm": 1}
    assert [(row.operator, row.count) for row in placement.left_over] == [("nodes that are not named", 1)]


def test_a_log_that_tells_nothing_gives_no_placement() -> None:
    assert placing.read(["hello"], "webnn") is None
    assert placing.read([*WEBGPU.splitlines(), placing.CUT], "webgpu") is None


ARRAYS = {
    "scalar": np.asarray(3, np.int64),
    "odd": np.arange(3, dtype=np.float16),
    "bool": np.asarray([[True, False]]),
    "none": np.zeros((0, 4), np.float32),
}


def test_a_frame_gives_back_what_was_put_in() -> None:
    frame = web_page.encode({"op": "bind", "text": "naïve"}, ARRAYS)
    header, found = web_page.decode(frame)
    assert header == {"op": "bind", "text": "naïve"}
    assert list(found) == list(ARRAYS)
    for name, array in ARRAYS.items():
        assert found[name].dtype == array.dtype
        np.testing.assert_array_equal(found[name], array)


class Relay(BaseHTTPRequestHandler):
    """The relay's side, with answers as a test wants them."""

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"] or 0))
        if self.path.endswith("/page"):
            self._send(200, json.dumps({"about": {"browser": "test", "version": "1"}, "hello": {}}).encode())
            return
        header, arrays = web_page.decode(body)
        self._send(*ANSWERS[header["op"]](header, arrays))

    def _send(self, status: int, body: bytes) -> None:
        self.send_response(status)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Nothing is printed."""


ANSWERS = {
    "echo": lambda header, arrays: (200, web_page.encode({"seen": header["more"]}, arrays)),
    "raise": lambda *_: (200, web_page.encode({"error": {"name": "RangeError", "message": "no", "stack": "at x"}}, {})),
    "crash": lambda *_: (502, json.dumps({"kind": "gone", "error": "the page is gone: crashed"}).encode()),
    "hang": lambda *_: (504, json.dumps({"kind": "timeout", "error": "no answer within 1s"}).encode()),
    "run": lambda *_: (200, web_page.encode({"ms": 2.5}, {})),
    "sample": lambda header, _: (200, web_page.encode({"ms": [1.0] * (n := header["min_n"]), "hidden": n > 7}, {})),
}


@pytest.fixture
def page():
    server = ThreadingHTTPServer(("127.0.0.1", 0), Relay)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield web_page.Page(f"http://127.0.0.1:{server.server_port}/visits/x")
    server.shutdown()
    server.server_close()


def test_a_call_carries_its_tensors(page: web_page.Page) -> None:
    header, found = page.call("echo", 5, ARRAYS, more=[1, 2])
    assert header["seen"] == [1, 2]
    np.testing.assert_array_equal(found["odd"], ARRAYS["odd"])


@pytest.mark.parametrize(
    ("op", "error", "says"),
    [("raise", PageError, "raise: RangeError: no"), ("crash", PageLost, "crashed"), ("hang", PageTimeout, "within 1s")],
)
def test_what_a_page_does_not_do_is_raised(page: web_page.Page, op: str, error: type[Exception], says: str) -> None:
    with pytest.raises(error, match=says):
        page.call(op, 5)


@pytest.mark.parametrize(
    ("said", "error", "also"),
    [
        ("std::bad_alloc", TooLarge, "0.5 billion"),
        ("RuntimeError: memory access out of bounds", BrokenDown, "while it loaded 0.6 GB; 0.5 billion"),
        ("RuntimeError: unreachable", BrokenDown, "broke down in WebAssembly"),
        ("Could not find an implementation for Det", RefusedGraph, "refuses the graph"),
    ],
)
def test_what_a_page_says_of_a_graph_is_told_apart(tmp_path, said: str, error: type[Exception], also: str) -> None:
    """An address out of bounds is the engine's error, and not a want of memory."""

    class Refusing:
        def call(self, op: str, *_: object, **__: object) -> None:
            name, _, message = said.rpartition(": ")
            raise PageError(op, name or "Error", message)

    (tmp_path / "w").touch()
    os.truncate(tmp_path / "w", 600_000_000)
    with pytest.raises(error, match=also) as raised:
        created(Refusing(), {"w": tmp_path / "w"}, "0.5 billion parameters fit")
    assert type(raised.value) is error


def test_the_pages_clock_tells_the_times(page: web_page.Page) -> None:
    clock, rule = PageClock(page), timing.Rule(min_n=7, warmup_max_s=1.0)
    assert clock.once() == 2.5
    assert clock.warm_up(rule).stable
    assert clock.sample(rule, 1.0).ms == [1.0] * 7
    assert clock.sample(rule, 1.0).hidden is False
    assert clock.sample(dataclasses.replace(rule, min_n=9), 1.0).hidden is True


def model(text: str, **constants: np.ndarray) -> onnx_ir.Model:
    """A model of ONNX's own text form, with constants added as initializers."""
    made = onnx_ir.from_onnx_text(text)
    for name, array in constants.items():
        value = next(v for node in made.graph for v in node.inputs if v is not None and v.name == name)
        value.const_value = onnx_ir.tensor(array, name=name)
        value.dtype, value.shape = value.const_value.dtype, value.const_value.shape
        made.graph.register_initializer(value)
    return made


def ran(made: onnx_ir.Model, feeds: dict[str, np.ndarray]) -> list[np.ndarray]:
    """What ONNX Runtime makes of a model, its inputs in the types that it asks for."""
    session = onnxruntime.InferenceSession(
        onnx_ir.to_proto(made).SerializeToString(), providers=["CPUExecutionProvider"]
    )
    types = {"tensor(int32)": np.int32, "tensor(int64)": np.int64, "tensor(float)": np.float32}
    return session.run(None, {i.name: feeds[i.name].astype(types[i.type]) for i in session.get_inputs()})


PICKED = """
<ir_version: 10, opset_import: ["" : 20]>
picked (int64[2,5] ids, float[2,5,3] rows) => (float[2,3] out, int64[2] place)
{
   place = ArgMax <axis: int = 1, keepdims: int = 0> (ids)
   column = Unsqueeze (place, one)
   index = Concat <axis: int = 1> (order, column)
   low = Clip (index, least)
   out = GatherND (rows, low)
}
"""


def picked() -> onnx_ir.Model:
    made = model(
        PICKED,
        one=np.asarray([1], np.int64),
        order=np.asarray([[0], [-1]], np.int64),
        least=np.asarray(-1, np.int64),
    )
    shapes = {"place": [2], "column": [2, 1], "index": [2, 2], "low": [2, 2], "out": [2, 3]}
    for node in made.graph:
        out = node.outputs[0]
        out.shape = onnx_ir.Shape(shapes[str(out.name)])
        out.dtype = onnx_ir.DataType.FLOAT if out.name == "out" else onnx_ir.DataType.INT64
    return made


def test_a_graph_for_browsers_has_small_whole_numbers_and_the_same_results() -> None:
    feeds = {
        "ids": np.asarray([[3, 9, 9, 1, 0], [5, 1, 2, 8, 8]]),
        "rows": np.random.default_rng(0).random((2, 5, 3), np.float32),
    }
    before, made = ran(picked(), feeds), picked()
    done = {step["name"] for step in rewrites.apply(made)}
    assert done == {
        "places of the largest by comparing",
        "gathers along one axis",
        "clips by comparing",
        "whole numbers in 32 bits",
    }
    assert {node.op_type for node in made.graph}.isdisjoint({"ArgMax", "GatherND", "Clip"})
    assert made.graph.inputs[0].dtype == onnx_ir.DataType.INT32
    for found, expected in zip(ran(made, feeds), before, strict=True):
        assert found.dtype == expected.dtype
        np.testing.assert_array_equal(found, expected)


def test_numbers_that_need_64_bits_keep_them() -> None:
    made = model(
        """
        <ir_version: 10, opset_import: ["" : 20]>
        hashed (int64[4] ids) => (int64[4] out) { far = Mul (ids, prime) out = Mod (far, buckets) }
        """,
        prime=np.asarray(2**40 + 15, np.int64),
        buckets=np.asarray(1000, np.int64),
    )
    for node in made.graph:
        node.outputs[0].dtype, node.outputs[0].shape = onnx_ir.DataType.INT64, onnx_ir.Shape([4])
    feeds = {"ids": np.asarray([1, 2, 3, 400])}
    before = ran(made, feeds)
    integers.narrow(made)
    np.testing.assert_array_equal(ran(made, feeds)[0], before[0])


def test_what_is_gathered_of_one_value_is_known() -> None:
    made = model(
        """
        <ir_version: 10, opset_import: ["" : 20]>
        kinds (int64[1,3] at) => (int64[1,3] out)
        { kind = GatherElements <axis: int = 1> (zeros, at) out = Add (kind, at) }
        """,
        zeros=np.zeros((1, 8), np.int64),
    )
    for node in made.graph:
        node.outputs[0].dtype, node.outputs[0].shape = onnx_ir.DataType.INT64, onnx_ir.Shape([1, 3])
    assert rewrites.gathers_of_one_value(made) == 1
    np.testing.assert_array_equal(ran(made, {"at": np.asarray([[5, 1, 2]])})[0], [[5, 1, 2]])


def typed(text: str, shapes: dict[str, tuple[list[int], onnx_ir.DataType]], **constants: np.ndarray) -> onnx_ir.Model:
    """A model whose values have these shapes and dtypes."""
    made = model(text, **constants)
    for node in made.graph:
        out = node.outputs[0]
        shape, out.dtype = shapes[str(out.name)]
        out.shape = onnx_ir.Shape(shape)
    return made


F = onnx_ir.DataType.FLOAT
PLAIN = [
    (
        functions.plainer("Neg"),
        typed(
            """<ir_version: 10, opset_import: ["" : 20]>
            g (float[2,3,4] x, int64[2,5,4] at) => (int64[2,5,4] y, float[2,3,4] z) { y = Neg (at) z = Neg (x) }""",
            {"y": ([2, 5, 4], onnx_ir.DataType.INT64), "z": ([2, 3, 4], F)},
        ),
    ),
    (
        elements.gather,
        typed(
            """<ir_version: 10, opset_import: ["" : 20]>
            g (float[2,3,4] x, int64[2,5,4] at) => (float[2,5,4] y) { y = GatherElements <axis: int = 1> (x, at) }""",
            {"y": ([2, 5, 4], F)},
        ),
    ),
    *(
        (
            scatters.by_comparing,
            typed(
                f"""<ir_version: 10, opset_import: ["" : 20]>
                g (float[2,6,3] x, int64[2,2,3] at) => (float[2,6,3] y)
                {{ y = ScatterElements <axis: int = 1, reduction: string = "{how}"> (x, at, new) }}""",
                {"y": ([2, 6, 3], F)},
                new=np.random.default_rng(3).random((2, 2, 3), np.float32),
            ),
        )
        for how in ("none", "add")
    ),
    (
        spatial.strided_slices,
        typed(
            """<ir_version: 10, opset_import: ["" : 20]>
            g (float[2,7,5] x) => (float[2,4,5] y) { y = Slice (x, from, to, on, by) }""",
            {"y": ([2, 4, 5], F)},
            **{
                "from": np.asarray([-1, 6]),
                "to": np.asarray([-99, -99]),
                "on": np.asarray([2, 1]),
                "by": np.asarray([-1, -2]),
            },
        ),
    ),
    (
        spatial.edge_pads,
        typed(
            """<ir_version: 10, opset_import: ["" : 20]>
            g (float[2,3,4] x) => (float[2,6,5] y) { y = Pad <mode: string = "edge"> (x, by) }""",
            {"y": ([2, 6, 5], F)},
            by=np.asarray([0, 2, 0, 0, 1, 1]),
        ),
    ),
    *(
        (
            convolutions.plain,
            typed(
                f"""<ir_version: 10, opset_import: ["" : 20]>
                g (float[1,4,5] x) => (float[1,{2 * groups},{size}] y)
                {{ y = ConvTranspose <group: int = {groups}, strides: ints = [2], pads: ints = [{a}, {b}],
                                      output_padding: ints = [{more}]> (x, w, c) }}""",
                {"y": ([1, 2 * groups, size], F)},
                w=np.random.default_rng(4).random((4, 2, 4), np.float32),
                c=np.random.default_rng(5).random(2 * groups, np.float32),
            ),
        )
        for groups, a, b, more, size in ((1, 1, 1, 0, 10), (2, 0, 0, 0, 12), (4, 1, 0, 1, 12), (2, 0, 0, 1, 13))
    ),
    *(
        (
            spatial.resizes,
            typed(
                f"""<ir_version: 10, opset_import: ["" : 20]>
                g (float[1,2,5,6] x) => (float[1,2,9,4] y)
                {{ y = Resize <mode: string = "{mode}", coordinate_transformation_mode: string = "{rule}",
                               cubic_coeff_a: float = -0.75> (x, none, none, to) }}""",
                {"y": ([1, 2, 9, 4], F)},
                none=np.asarray([], np.float32),
                to=np.asarray([1, 2, 9, 4]),
            ),
        )
        for mode, rule in (("cubic", "half_pixel"), ("linear", "align_corners"), ("cubic", "align_corners"))
    ),
]


@pytest.mark.parametrize(("step", "made"), PLAIN, ids=lambda x: getattr(x, "__name__", ""))
def test_plainer_operators_give_the_same(step, made) -> None:
    draw = np.random.default_rng(1)
    feeds = {}
    for value in made.graph.inputs:
        shape = tuple(value.shape.numpy())
        if value.dtype == F:
            feeds[value.name] = draw.random(shape, np.float32)
        else:  # no place is named twice
            feeds[value.name] = np.argsort(draw.random((2, 3, shape[2])), axis=1)[:, [0, 1, 2, 0, 1][: shape[1]]] - 1
    before = ran(made, feeds)[0]
    assert step(made) == 1
    np.testing.assert_allclose(ran(made, feeds)[0], before, atol=1e-6)
    assert step(made) == 0

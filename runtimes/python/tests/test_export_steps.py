"""Each rewriting step on small graphs written by hand, before and after it by ONNX Runtime."""

import numpy as np
import onnx_ir
import pytest
from step_graphs import after, graph, run

from assay_runner.exporting import steps, writing
from assay_runner.exporting.steps import (
    dead,
    einsums,
    folding,
    gathers,
    idle,
    indices,
    joins,
    nans,
    pools,
    powers,
    repeats,
    spectra,
    ties,
    wraps,
)


@pytest.mark.parametrize(
    ("exponent", "count", "operators"),
    [
        (2.0, 1, {"Mul": 1}),
        (3.0, 1, {"Mul": 2}),
        (0.5, 1, {"Sqrt": 1}),
        (4.0, 0, {"Pow": 1}),
        ([2.0, 2.0], 0, {"Pow": 1}),
    ],
)
def test_powers(exponent, count, operators):
    model = graph("g (float[3, 2] x) => (float[3, 2] z) { y = Abs(x) z = Pow(y, e) }", e=np.float32(exponent))
    assert after(model, powers.to_products, count) == {"Abs": 1, **operators}


def test_a_power_of_whole_numbers_stays():
    model = graph("g (int64[2] x) => (int64[2] z) { z = Pow(x, e) }", e=np.int64(2))
    assert after(model, powers.to_products, 0) == {"Pow": 1}


def test_folding_computes_what_follows_from_constants_only():
    text = "g (float[2, 2] x) => (float[2, 2] z) { a = Add(c, c) b = Transpose<perm=[1, 0]>(a) z = Mul(x, b) }"
    model = graph(text, c=np.float32([[1, 2], [3, 4]]))
    assert after(model, folding.fold, 2) == {"Mul": 1}


def test_folding_draws_no_noise_and_makes_nothing_large():
    text = """g (float[1] x) => (float[8000000] z, float[2] n) {
        y = Expand(c, s) z = Add(x, y) r = RandomNormalLike(d) n = Mul(r, q)
    }"""
    model = graph(text, c=np.float32([1]), s=np.int64([8_000_000]), d=np.float32([1, 2]), q=np.float32([0]))
    assert after(model, folding.fold, 0) == {"Add": 1, "Expand": 1, "Mul": 1, "RandomNormalLike": 1}


def test_a_constant_output_keeps_its_name():
    model = graph("g (float[1] x) => (float[1] z, float[2] y) { z = Neg(x) y = Neg(c) }", c=np.float32([1, 2]))
    assert after(model, folding.fold, 1) == {"Neg": 1}


@pytest.mark.parametrize(
    ("equation", "left", "right", "result", "count"),
    [
        ("ij,jk->ik", [2, 3], [3, 4], [2, 4], 1),
        ("...pd,...qd->...pq", [2, 5, 3], [2, 4, 3], [2, 5, 4], 1),
        ("bqc,bchw->bqhw", [2, 3, 4], [2, 4, 5, 6], [2, 3, 5, 6], 1),
        ("bhid,bhjd->bijh", [1, 2, 3, 4], [1, 2, 5, 4], [1, 3, 5, 2], 1),
        ("i,j->ij", [2], [3], [2, 3], 1),
        ("bij,bij->b", [2, 3, 4], [2, 3, 4], [2], 1),
        ("ii,ij->j", [3, 3], [3, 2], [2], 0),  # a diagonal
        ("ij,jk->ik", [2, 1], [3, 4], [2, 4], 0),  # an axis of one, spread
        ("ij,kj->k", [2, 3], [4, 3], [4], 0),  # an axis summed of one operand alone
    ],
)
def test_einsums(equation, left, right, result, count):
    text = f'g (float{left} x, float{right} y) => (float{result} z) {{ z = Einsum<equation="{equation}">(x, y) }}'
    operators = after(graph(text), einsums.to_products, count)
    assert ("Einsum" in operators) == (count == 0)


BROADCAST = np.stack(np.broadcast_arrays(np.zeros((2, 3, 1, 4), np.int64), np.arange(4)), axis=-1)


@pytest.mark.parametrize(
    ("places", "count", "operators"),
    [
        (BROADCAST, 1, {"Expand": 1, "Reshape": 1}),
        (BROADCAST[:1, :1], 1, {"Reshape": 1}),
        (BROADCAST[..., ::-1, :], 0, {"GatherND": 1}),  # another order
        (BROADCAST[..., :3, :], 0, {"GatherND": 1}),  # not everything
    ],
)
def test_gathers(places, count, operators):
    shape = list(places.shape[:-1])
    model = graph(f"g (bool[1, 4] x) => (bool{shape} z) {{ z = GatherND(x, p) }}", p=np.ascontiguousarray(places))
    assert after(model, gathers.to_reshapes, count) == operators


MASK = np.where(np.tri(4, dtype=bool), 0, -np.inf).astype(np.float32)
GUARD = "t = IsNaN(p) g = Where(t, zero, p) z = MatMul(g, v)"
GUARDED = "g (float[4, 4] q, float[4, 2] v) => (float[4, 2] z) { s = MatMul(q, q) %s p = Softmax(m) " + GUARD + " }"


def test_a_guard_is_idle_where_every_row_sees_something():
    model = graph(GUARDED % "m = Add(s, mask)", mask=MASK, zero=np.float32(0))
    assert after(model, nans.remove, 1) == {"Add": 1, "IsNaN": 1, "MatMul": 2, "Softmax": 1}


def test_a_guard_stays_where_a_row_sees_nothing():
    hidden = MASK.copy()
    hidden[0] = -np.inf
    model = graph(GUARDED % "m = Add(s, mask)", mask=hidden, zero=np.float32(0))
    assert after(model, nans.remove, 0)["IsNaN"] == 1


def test_a_guard_stays_where_the_mask_is_given():
    model = graph(
        "g (float[4, 4] q, float[4, 2] v, bool[4, 4] b) => (float[4, 2] z) { s = MatMul(q, q) w = Where(b, zero, low)"
        " m = Add(s, w) p = Softmax(m) " + GUARD + " }",
        zero=np.float32(0),
        low=np.float32(-np.inf),
    )
    assert after(model, nans.remove, 0)["IsNaN"] == 1


def test_a_guard_is_idle_where_its_rows_are_zeroed_behind():
    model = graph(
        "g (float[4, 4] q, float[4, 2] v, bool[4, 1] b) => (float[4, 2] z) { s = MatMul(q, q) w = Where(b, zero, low)"
        " m = Add(s, w) p = Softmax(m) t = IsNaN(p) g = Where(t, zero, p) y = MatMul(g, v)"
        " i = Cast<to=6>(b) r = ReduceMax<keepdims=1>(i, axes) a = Cast<to=9>(r) n = Not(a) z = Where(n, zero, y) }",
        zero=np.float32(0),
        low=np.float32(-np.inf),
        axes=np.int64([-1]),
    )
    assert not run(model)[0].all()  # the drawn mask hides a row, so that the guard has something to do
    operators = after(model, nans.remove, 1)
    assert operators["Where"] == 2


@pytest.mark.parametrize(
    ("text", "count", "operators"),
    [
        ("y = Identity(x) z = Neg(y)", 1, {"Neg": 1}),
        ("y = Neg(x) z = Identity(y)", 1, {"Neg": 1}),
        ("z = Identity(x)", 0, {"Identity": 1}),
        ("y = Cast<to=1>(x) z = Neg(y)", 1, {"Neg": 1}),
        ("y = Cast<to=11>(x) w = Cast<to=1>(y) z = Neg(w)", 1, {"Cast": 1, "Neg": 1}),
        ("y = Cast<to=7>(x) w = Cast<to=1>(y) z = Neg(w)", 0, {"Cast": 2, "Neg": 1}),
        ("y = Transpose<perm=[0, 1]>(x) z = Neg(y)", 1, {"Neg": 1}),
        ("y = Transpose<perm=[1, 0]>(x) w = Transpose<perm=[1, 0]>(y) z = Neg(w)", 1, {"Neg": 1, "Transpose": 1}),
        ("y = Tile(x, once) z = Neg(y)", 1, {"Neg": 1}),
        ("y = Where(no, zero, x) z = Neg(y)", 1, {"Neg": 1}),
        ("y = Where(yes, x, zero) z = Neg(y)", 1, {"Neg": 1}),
        ("y = Add(x, zeros) z = Softmax(y)", 1, {"Softmax": 1}),
        ("y = Add(x, zeros) z = Neg(y)", 0, {"Add": 1, "Neg": 1}),
        ("y = Pad(x, nowhere) z = Neg(y)", 1, {"Neg": 1}),
        ("y = Pad(x, around) z = Neg(y)", 0, {"Pad": 1, "Neg": 1}),
        ("s = Shape<end=1>(x) y = Split(x, s) z = Neg(y)", 1, {"Neg": 1}),
        ("y = Slice(x, starts, ends, axes, back) z = Neg(y)", 0, {"Neg": 1, "Slice": 1}),
    ],
)
def test_idle_nodes(text, count, operators):
    model = graph(
        f"g (float[2, 2] x) => (float[2, 2] z) {{ {text} }}",
        zero=np.float32(0),
        zeros=np.zeros((2, 2), np.float32),
        no=np.zeros((2, 2), bool),
        yes=np.ones((2, 2), bool),
        once=np.int64([1, 1]),
        starts=np.int64([1]),
        ends=np.int64([-3]),
        axes=np.int64([0]),
        back=np.int64([-1]),
        nowhere=np.int64([0, 0, 0, 0]),
        around=np.int64([1, 0, -1, 0]),
    )
    after(model, idle.remove, count)
    dead.remove(model)
    assert writing.operators(model) == operators


def test_two_reshapes_are_one():
    model = graph(
        "g (float[2, 3] x) => (float[6] z) { y = Reshape(x, a) z = Reshape(y, b) }",
        a=np.int64([3, 2]),
        b=np.int64([-1]),
    )
    after(model, idle.remove, 1)
    dead.remove(model)
    assert writing.operators(model) == {"Reshape": 1}


@pytest.mark.parametrize(
    ("index", "dtype"), [([0, 1], "INT32"), ([0, -1], "INT32"), (np.int64(1), "INT32"), ([], "INT32")]
)
def test_constant_indices_are_narrowed(index, dtype):
    index = np.asarray(index, np.int64)
    shape = [*index.shape, 3]
    model = graph(f"g (float[2, 3] x) => (float{shape} z) {{ z = Gather(x, i) }}", i=index)
    after(model, indices.narrow, 1)
    assert model.graph[0].inputs[1].dtype.name == dtype
    assert tuple(model.graph[0].inputs[1].shape) == index.shape


def test_given_indices_stay():
    model = graph("g (float[3] x, int64[2] i) => (float[2] z) { z = Gather(x, i) }")
    after(model, indices.narrow, 0)


@pytest.mark.parametrize(
    ("attributes", "size", "count"),
    [
        ("kernel_shape=[8, 8], strides=[8, 8], ceil_mode=1", 1, 1),
        ("kernel_shape=[8, 8], strides=[8, 8], ceil_mode=1, count_include_pad=1", 1, 1),
        ("kernel_shape=[4, 4]", 1, 0),
        ("kernel_shape=[6, 6], pads=[1, 1, 1, 1]", 1, 0),
    ],
)
def test_a_window_is_no_larger_than_its_image(attributes, size, count):
    text = f"g (float[1, 3, 4, 4] x) => (float[1, 3, {size}, {size}] y) {{ y = AveragePool<{attributes}>(x) }}"
    assert after(graph(text), pools.clip, count) == {"AveragePool": 1}


@pytest.mark.parametrize(
    ("pads", "axes", "shape", "operators"),
    [
        ([0, 0, 1, 0, 0, 1], None, [1, 2, 6], {"Concat": 1, "Slice": 2, "Identity": 1}),
        ([2, 0], [-1], [1, 2, 6], {"Concat": 1, "Slice": 1, "Identity": 1}),
        ([0, 1, 1, 0, 1, 1], None, [1, 4, 6], {"Concat": 2, "Slice": 4, "Identity": 1}),
        ([0, 0, 5, 0, 0, 0], None, [1, 2, 9], {"Pad": 1}),
    ],
)
def test_circular_pads(pads, axes, shape, operators):
    names = "x, p, , a" if axes else "x, p"
    model = graph(
        f'g (float[1, 2, 4] x) => (float{shape} y) {{ y = Pad<mode="wrap">({names}) }}',
        p=np.asarray(pads, np.int64),
        a=np.asarray(axes or [], np.int64),
    )
    count = 0 if "Pad" in operators else 1
    assert after(model, wraps.to_slices, count) == operators


def test_pads_with_a_number_stay():
    model = graph("g (float[3] x) => (float[5] y) { y = Pad(x, p) }", p=np.asarray([1, 1], np.int64))
    assert after(model, wraps.to_slices, 0) == {"Pad": 1}


@pytest.mark.parametrize(
    ("axis", "given", "got", "attributes", "count"),
    [
        (2, "1, 4, 6, 2", "1, 4, 6, 2", "inverse=0", 1),
        (-2, "1, 4, 6, 2", "1, 4, 6, 2", "inverse=1", 1),
        (2, "1, 4, 6, 1", "1, 4, 4, 2", "onesided=1", 1),
        (1, "1, 4, 6, 2", "1, 4, 6, 2", "inverse=0", 0),
    ],
)
def test_spectra(axis, given, got, attributes, count):
    text = f"g (float[{given}] x) => (float[{got}] y) {{ y = DFT<{attributes}>(x, , a) }}"
    operators = after(graph(text, a=np.int64(axis)), spectra.along_the_first, count)
    assert operators == ({"Transpose": 2, "DFT": 1} if count else {"DFT": 1})


@pytest.mark.parametrize(("largest", "axis", "k"), [(1, 1, 6), (0, -1, 6), (1, 0, 2), (0, 1, 3)])
def test_sorted_truth_has_no_ties(largest, axis, k):
    got = [4, 6]
    got[axis] = k
    model = graph(
        f"g (bool[4, 6] x) => (int64{got} i) {{ n = Cast<to=6>(x) v, i = TopK<axis={axis}, largest={largest}>(n, k) }}",
        k=np.asarray([k], np.int64),
    )
    after(model, ties.to_places, 1)
    assert [node.op_type for node in model.graph if node.op_type in ("Mul", "Add", "TopK")] == ["Mul", "Add", "TopK"]


@pytest.mark.parametrize(
    "text",
    [
        "g (float[6] x) => (int64[6] i) { v, i = TopK(x, k) }",
        "g (bool[6] x) => (int32[6] v, int64[6] i) { n = Cast<to=6>(x) v, i = TopK(n, k) }",
    ],
)
def test_other_sorts_stay(text):
    assert after(graph(text, k=np.asarray([6], np.int64)), ties.to_places, 0)["TopK"] == 1


def test_a_scatter_of_nothing_is_idle():
    text = "g (float[3, 2] x, float[0, 2] u) => (float[3, 2] z) { y = ScatterND(x, p, u) z = Abs(y) }"
    model = graph(text, p=np.zeros([0, 1], np.int64))
    assert after(model, idle.remove, 1) == {"Abs": 1}


@pytest.mark.parametrize(
    ("axis", "sizes", "count"),
    [(-1, [2, 3], 1), (1, [2, 3], 1), (1, [3, 2], 0), (0, [1, 3], 0)],
)
def test_a_split_may_undo_a_join(axis, sizes, count):
    first, second = ([4, size] if axis else [size, 5] for size in sizes)
    model = graph(
        f"g (float[4, 2] x, float[4, 3] y) => (float{first} a, float{second} b)"
        f"{{ j = Concat<axis=1>(x, y) p, q = Split<axis={axis}>(j, s) a = Abs(p) b = Neg(q) }}",
        s=np.asarray(sizes, np.int64),
    )
    operators = after(model, joins.undo, count)
    assert ("Split" in operators) == (count == 0)


def test_a_squeeze_of_nothing_is_idle():
    """ONNX forbids it, so that only what is left can be run."""
    text = "g (float[4, 2] x) => (float[4, 2] z) { y = Squeeze(x, a) z = Abs(y) }"
    model = graph(text, a=np.asarray([0], np.int64))
    node = next(node for node in model.graph if node.op_type == "Squeeze")
    node.outputs[0].shape = onnx_ir.Shape([4, 2])
    assert idle.remove(model) == 1
    assert run(model)[0].shape == (4, 2)


def test_dead_nodes():
    model = graph("g (float[2] x) => (float[2] z) { y = Neg(x) w = Abs(y) z = Exp(x) }")
    assert after(model, dead.remove, 2) == {"Exp": 1}


def test_all_steps_together_say_what_they_did():
    model = graph(
        "g (float[2, 2] x) => (float[2, 2] z) { y = Pow(x, e) a = Add(c, c) w = Mul(y, a) z = Identity(w) }",
        e=np.float32(2),
        c=np.float32([[1, 2], [3, 4]]),
    )
    before = run(model)
    done = steps.apply(model)
    np.testing.assert_allclose(run(model)[0], before[0], rtol=1e-6)
    assert [row["name"] for row in done] == ["constants folded", "small powers are products", "idle nodes removed"]
    assert all(row["count"] and row["why"] for row in done)
    assert writing.operators(model) == {"Mul": 2}


def test_what_was_done_to_two_graphs_is_added_up():
    done = [{"name": "a", "count": 2, "why": "x"}, {"name": "b", "count": 1, "why": "y"}]
    assert steps.joined(done, done[:1]) == [
        {"name": "a", "count": 4, "why": "x"},
        {"name": "b", "count": 1, "why": "y"},
    ]
    assert done[0]["count"] == 2


@pytest.mark.parametrize(("shape", "times", "count"), [([1, 4, 1], [2, 1, 3], 1), ([1, 4, 1], [1, 2, 3], 0)])
def test_repeats_of_one_element_are_expanded(shape, times, count):
    sizes = ", ".join(map(str, shape))
    made = graph(f"g (bool[{sizes}] x) => (bool[a, b, c] y) {{ y = Tile(x, n) }}", n=np.asarray(times))
    assert ("Expand" in after(made, repeats.to_expands, count)) is bool(count)

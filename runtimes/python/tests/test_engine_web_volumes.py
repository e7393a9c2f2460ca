"""What browsers have no operators for, written with others: convolutions along three axes, and remainders."""

import numpy as np
import pytest
from step_graphs import after, graph

from assay_runner.engines.web import channels, integers, volumes, windows
from assay_runner.exporting.steps import remainders

DRAW = np.random.default_rng(4)


def convolved(sizes, kernel, wanted, how, bias=True):
    before, after = (", ".join(map(str, shape)) for shape in (sizes, wanted))
    said = f"Conv{f'<{how}>' if how else ''}(x, w{', c' if bias else ''})"
    text = f"g (float[{before}] x) => (float[{after}] y) {{ y = {said} }}"
    weights = 0.05 * DRAW.normal(size=kernel)
    return graph(text, w=weights.astype(np.float32), c=DRAW.normal(size=kernel[0]).astype(np.float32))


@pytest.mark.parametrize(
    ("sizes", "kernel", "wanted", "how", "operators"),
    [
        # A patch is a window.
        ((4, 3, 2, 6, 6), (5, 3, 2, 6, 6), (4, 5, 1, 1, 1), "strides = [2, 6, 6]", "Reshape Reshape"),
        ((2, 3, 4, 6, 9), (5, 3, 2, 3, 3), (2, 5, 2, 2, 3), "strides = [2, 3, 3]", "Transpose Transpose"),
        # Windows lie over each other, beside each other, apart, and beyond the edges.
        ((1, 2, 5, 6, 6), (3, 2, 3, 3, 3), (1, 3, 3, 4, 4), "", "Gather"),
        ((2, 2, 5, 6, 6), (3, 2, 3, 3, 3), (2, 3, 5, 6, 6), "pads = [1, 1, 1, 1, 1, 1]", "Gather Pad"),
        ((1, 2, 5, 6, 6), (3, 2, 3, 3, 3), (1, 3, 5, 4, 5), "pads = [2, 0, 1, 0, 0, 0]", "Gather Pad"),
        ((1, 2, 9, 6, 6), (3, 2, 3, 3, 3), (1, 3, 3, 2, 2), "strides = [2, 2, 2], dilations = [2, 1, 1]", "Gather"),
        ((1, 2, 4, 6, 6), (3, 2, 1, 3, 3), (1, 3, 2, 4, 4), "strides = [2, 1, 1]", "Gather"),
    ],
)
@pytest.mark.parametrize("bias", [True, False])
def test_a_convolution_along_three_axes_is_one_along_two(sizes, kernel, wanted, how, operators, bias):
    found = after(convolved(sizes, kernel, wanted, how, bias), volumes.flatten, 1)
    assert set(operators.split()) <= set(found)


@pytest.mark.parametrize(
    ("sizes", "kernel", "wanted", "how"),
    [
        ((1, 2, 6, 6), (3, 2, 3, 3), (1, 3, 4, 4), ""),
        ((1, 2, 5, 6, 6), (4, 1, 3, 3, 3), (1, 4, 3, 4, 4), "group = 2"),
        ((1, 2, 5, 6, 6), (3, 2, 3, 3, 3), (1, 3, 5, 6, 6), 'auto_pad = "SAME_UPPER"'),
    ],
)
def test_other_convolutions_stay(sizes, kernel, wanted, how):
    assert after(convolved(sizes, kernel, wanted, how), volumes.flatten, 0) == {"Conv": 1}


@pytest.mark.parametrize(
    ("pool", "size"),
    [
        ("MaxPool<kernel_shape = [2], strides = [2]>", 4),
        ("MaxPool<kernel_shape = [3], dilations = [2], pads = [1, 2]>", 7),
        ("AveragePool<kernel_shape = [3], pads = [1, 0], count_include_pad = 1>", 7),
        ("AveragePool<kernel_shape = [3], strides = [3], ceil_mode = 1>", 3),
    ],
)
def test_a_pool_along_one_axis_is_one_along_two(pool, size):
    found = after(
        graph(f"g (float[2, 3, 8] x) => (float[2, 3, {size}] y) {{ y = {pool}(x) }}"), windows.along_two_axes, 1
    )
    assert sum(found.values()) == 3


def test_other_pools_stay():
    text = (
        "g (float[2, 3, 8, 8] x) => (float[2, 3, 4, 4] y) { y = MaxPool<kernel_shape = [2, 2], strides = [2, 2]>(x) }"
    )
    assert after(graph(text), windows.along_two_axes, 0) == {"MaxPool": 1}


@pytest.mark.parametrize("kind", ["int32", "int64"])
def test_remainders_have_the_sign_of_the_divisor(kind):
    model = graph(
        f"g (float[1] x) => ({kind}[21, 8] y, float[1] z) {{ z = Identity(x) y = Mod(a, b) }}",
        a=np.arange(-10, 11, dtype=kind)[:, None],
        b=np.array([[-7, -3, -2, -1, 1, 2, 3, 7]], kind),
    )
    assert after(model, remainders.by_quotients, 1)["Div"] == 2


def test_what_is_computed_of_padded_numbers_is_narrowed():
    model = graph(
        "g (int64[1, 2] x) => (int64[1, 3] y) { p = Pad(x, around, fill) y = Div(p, two) }",
        around=np.int64([0, 1, 0, 0]),
        fill=np.int64(5),
        two=np.int64(2),
    )
    integers.narrow(model)
    assert {value.dtype.name for node in model.graph if node.op_type == "Div" for value in node.inputs} == {"INT32"}


@pytest.mark.parametrize(
    ("sizes", "kernel", "wanted", "filled"),
    [
        ((2, 9, 20), (8, 9, 3), (2, 8, 18), True),
        ((1, 33, 6, 6), (4, 33, 3, 3), (1, 4, 4, 4), True),
        ((1, 12, 20), (8, 12, 3), (1, 8, 18), False),  # four divide it
        ((1, 10, 20), (8, 10, 3), (1, 8, 18), False),  # three do not
        ((1, 3, 20), (8, 3, 3), (1, 8, 18), False),
        ((1, 9, 20), (9, 9, 3), (1, 9, 18), False),
        ((1, 9, 20), (8, 9, 1), (1, 8, 20), False),
    ],
)
def test_channels_in_threes_are_filled_up(sizes, kernel, wanted, filled):
    found = after(convolved(sizes, kernel, wanted, ""), channels.fill, int(filled))
    assert ("Pad" in found) is filled


def test_channels_are_filled_up_whatever_the_other_axes():
    text = "g (float[N, 9, L] x) => (float[N, 8, M] y) { y = Conv(x, w) }"
    made = graph(text, w=DRAW.normal(size=(8, 9, 3)).astype(np.float32))
    assert channels.fill(made) == 1

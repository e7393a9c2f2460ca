import hashlib
import math

import numpy as np
import pytest

from assay_runner.subjects import stream
from assay_runner.subjects.stream import BLOCK, Draw, Fill


def test_bits_are_pinned():
    # Whoever changes these bits must raise stream.VERSION: stored results name it.
    values = stream.floats("0/layer.weight", 4096, Draw(0.0, 0.02))
    assert stream.VERSION == 1
    assert hashlib.sha256(values.tobytes()).hexdigest()[:16] == "61fc109f6e6cf476"
    ids = stream.integers("0/input/input_ids", 4096, 5, 196)
    assert hashlib.sha256(ids.astype("<i8").tobytes()).hexdigest()[:16] == "6214a6407ba74d82"


@pytest.mark.parametrize("draw", [Draw(0.0, 0.02), Draw(1.0, 0.5), Draw(-3.0, 1e-4), Draw(0.25, 0.0)])
def test_moments(draw):
    values = stream.floats("k", 1 << 17, draw).astype(np.float64)
    assert values.mean() == pytest.approx(draw.mean, abs=draw.std * 0.02 + 1e-7)
    assert values.std() == pytest.approx(draw.std, rel=0.01, abs=1e-7)
    assert np.abs(values - draw.mean).max() <= draw.std * math.sqrt(3) * 1.0001 + 1e-6


def test_threads_do_not_matter():
    n = 5 * BLOCK + 17
    one, many = np.empty(n, np.float32), np.empty(n, np.float32)
    stream.draw([Fill(one, "k", Draw(0, 1))], threads=1)
    stream.draw([Fill(many, "k", Draw(0, 1))], threads=4)
    np.testing.assert_array_equal(one, many)


def test_keys_and_blocks_are_independent():
    n = 2 * BLOCK
    a, b = stream.floats("a", n, Draw(0, 1)), stream.floats("b", n, Draw(0, 1))
    assert abs(np.corrcoef(a, b)[0, 1]) < 0.01
    assert abs(np.corrcoef(a[:BLOCK], a[BLOCK:])[0, 1]) < 0.01
    assert abs(np.corrcoef(a[:-1], a[1:])[0, 1]) < 0.01
    assert len(np.unique(a[:4096])) > 4090


def test_a_longer_tensor_begins_like_a_shorter_one():
    np.testing.assert_array_equal(stream.floats("a", 10, Draw(0, 1)), stream.floats("a", 1000, Draw(0, 1))[:10])


HALVES = [(np.float16, "float16"), (np.uint16, "bfloat16"), (np.float64, "float64")]


@pytest.mark.parametrize(("dtype", "torch_name"), HALVES)
def test_other_dtypes_round_the_same_numbers(dtype, torch_name):
    torch = pytest.importorskip("torch")
    wide = torch.from_numpy(stream.floats("a", 4096, Draw(0.1, 1)))
    out = np.empty(4096, dtype)
    stream.draw([Fill(out, "a", Draw(0.1, 1))])
    expected = wide.to(getattr(torch, torch_name))
    if torch_name == "bfloat16":
        np.testing.assert_array_equal(out.view(np.int16), expected.view(torch.int16).numpy())
    else:
        np.testing.assert_array_equal(out, expected.numpy())


def test_integers_cover_their_range_evenly():
    ids = stream.integers("k", 1 << 16, 5, 13)
    counts = np.bincount(ids, minlength=13)
    assert counts[:5].sum() == 0
    assert ids.max() == 12
    assert counts[5:].min() > 0.9 * (1 << 16) / 8

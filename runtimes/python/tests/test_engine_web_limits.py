"""What fits into a browser, and what is said of that which does not."""

from __future__ import annotations

import pytest

from assay_runner.engines.web import limits
from assay_runner.engines.web.limits import ARRAY_BYTES, WASM_BYTES, Weights
from assay_runner.errors import TooLarge

BINDING = {"maxStorageBufferBindingSize": 128 << 20, "maxBufferSize": 1 << 30}


@pytest.mark.parametrize(
    ("weights", "graphs", "adapter", "says"),
    [
        (Weights((ARRAY_BYTES,), 1 << 20), 1, None, None),
        (Weights((ARRAY_BYTES + 1,), 1 << 20), 1, None, "a file of the model has 2.1 GB, and a browser's array"),
        (Weights((ARRAY_BYTES,) * 3, 1 << 20), 2, None, "has 6.4 GB, and WebAssembly 4.3 GB in all"),
        (Weights((1 << 30,), 128 << 20), 1, BINDING, None),
        (Weights((1 << 30,), 500 << 20), 1, BINDING, "a tensor of the model has 0.5 GB, and this adapter binds 0.1 GB"),
        (Weights((1 << 30,), 500 << 20), 1, None, None),  # nothing binds it
    ],
)
def test_a_model_fits_or_it_is_said_what_does(weights, graphs, adapter, says):
    if says is None:
        limits.confirm(weights, "fp32", graphs, adapter)
        return
    with pytest.raises(TooLarge, match=says) as raised:
        limits.confirm(weights, "fp32", graphs, adapter)
    assert "0.5 in fp32, 1.1 in fp16, 1.9 in w8, 3.4 in w4" in str(raised.value)


def test_the_largest_model_is_just_one_that_fits():
    for dtype, each in limits.BYTES.items():
        for graphs in (1, 2, 3):
            most = limits.largest(dtype, graphs)
            assert most * each <= ARRAY_BYTES
            assert most * each * graphs <= WASM_BYTES
            assert (most + 2) * each > min(ARRAY_BYTES, WASM_BYTES / graphs)


def test_graphs_beside_each_other_need_room_for_both():
    both = Weights((3, 4), 2).beside(Weights((5,), 3))
    assert both == Weights((3, 4, 5), 3)

"""Functions made of plainer ones give what torch gives."""

import pytest
import torch
from torch.nn import functional

from assay_runner.exporting import plainer

PLACES = torch.tensor([[0, 2, 2], [4, 1, 0]])
SHARES = torch.linspace(-1.0, 2.0, 6).reshape(2, 3)
TABLE = torch.arange(10.0).reshape(5, 2) ** 2


class Seen(torch.overrides.TorchFunctionMode):
    """Notes the functions that are called."""

    def __init__(self):
        super().__init__()
        self.calls = []

    def __torch_function__(self, func, types, args=(), kwargs=None):
        self.calls.append(func)
        return func(*args, **(kwargs or {}))


@pytest.mark.parametrize(
    ("places", "more", "plain"),
    [
        (PLACES, {"mode": "sum"}, True),
        (PLACES, {}, True),
        (PLACES, {"mode": "sum", "per_sample_weights": SHARES}, True),
        (PLACES, {"mode": "max"}, False),
        (PLACES, {"mode": "sum", "padding_idx": 2}, False),
        (PLACES.reshape(-1), {"mode": "sum", "offsets": torch.tensor([0, 4])}, False),
    ],
)
def test_bags(places, more, plain):
    expected = functional.embedding_bag(places, TABLE, **more)
    seen = Seen()
    with seen, plainer.Functions():
        torch.testing.assert_close(functional.embedding_bag(places, TABLE, **more), expected)
    assert (functional.embedding_bag not in seen.calls) == plain


def test_checks_of_a_model_are_taken_for_passed():
    seen = Seen()
    with seen, plainer.Functions():
        torch._check_tensor_all(torch.tensor([True, True]))
    assert torch.Tensor._is_all_true not in seen.calls
    with pytest.raises(RuntimeError), seen:
        torch._check_tensor_all(torch.tensor([True, False]))
    assert torch.Tensor._is_all_true in seen.calls


@pytest.mark.parametrize("mode", ["nearest", "nearest-exact"])
@pytest.mark.parametrize(
    ("size", "plain"), [((4, 8), True), ((8, 12), True), ((56, 48), False), (4, True), ((7, 7), True)]
)
def test_nearest_pixels(size, mode, plain):
    pixels = torch.arange(56 * 24.0).reshape(1, 1, 56, 24)
    expected = functional.interpolate(pixels, size=size, mode=mode)
    seen = Seen()
    with seen, plainer.Functions():
        found = functional.interpolate(pixels, size=size, mode=mode)
    assert torch.equal(found, expected)
    assert (torch.Tensor.index_select in seen.calls) is plain


@pytest.mark.parametrize("more", [{"scale_factor": 0.5}, {"size": (4, 4), "mode": "bilinear"}])
def test_other_pixels_are_left_alone(more):
    with plainer.Functions():
        assert plainer._nearest(torch.rand(1, 1, 56, 24), **more) is None

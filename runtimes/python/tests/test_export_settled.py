"""Inputs are settled where no value that the model takes changes anything, and only there."""

import torch

from assay_runner.exporting.settled import settled

PATCHES = torch.arange(16.0).reshape(1, 16)


def given(*sizes):
    return [{"pixels": PATCHES, "sizes": torch.tensor([size])} for size in sizes]


def counted(tensors):
    """Takes any image of as many patches as there are."""
    if int(tensors["sizes"].prod()) != tensors["pixels"].shape[1]:
        raise ValueError("another number of patches")
    return {"out": tensors["pixels"] * 2}


def laid_out(tensors):
    """The same, by columns."""
    counted(tensors)
    return {"out": tensors["pixels"].reshape(tuple(tensors["sizes"][0])).T.flatten()}


def only(value):
    """Gives something else for one size alone, which no rule makes of the first."""

    def run(tensors):
        return {"out": tensors["pixels"] + float(tensors["sizes"].tolist() == [value])}

    return run


def test_a_size_that_only_counts_is_settled():
    assert settled(counted, given([4, 4]), "sizes")


def test_a_form_is_not():
    assert not settled(laid_out, given([4, 4]), "sizes")
    assert not settled(laid_out, given([2, 8]), "sizes")


def test_what_samples_have_is_tried():
    assert settled(only([5, 11]), given([4, 4]), "sizes")
    assert not settled(only([5, 11]), given([4, 4], [5, 11]), "sizes")

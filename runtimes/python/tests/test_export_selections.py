"""A model's own check of what a mask selects passes while it is traced, and nothing else does."""

from contextlib import ExitStack

import pytest
import torch
from torch._prims_common import is_contiguous_or_false
from torch.overrides import TorchFunctionMode

from assay_runner.exporting.selections import Checked


class Checking(torch.nn.Module):
    """Puts features where a mask is, if there are as many."""

    def forward(self, states, mask, features):
        if states[mask].numel() != features.numel():
            raise ValueError("not as many")
        return states.masked_scatter(mask, features)


class Asking(torch.nn.Module):
    """Does something else where nothing is selected."""

    def forward(self, states, mask, features):
        return states if states[mask].numel() == 0 else states + 1


class Counting(torch.nn.Module):
    """Divides by how many there are."""

    def forward(self, states, mask, features):
        return states / states[mask].numel()


INPUTS = torch.zeros(1, 6), torch.tensor([[False, True, True, False, False, False]]), torch.tensor([1.0, 2.0])


class Shaping(torch.nn.Module):
    """Lays out what is selected; the library asks how much that is, and no model does."""

    def forward(self, states, mask, features):
        return is_contiguous_or_false(states[mask]) and states[mask].reshape(1, 2) + features


class Passing(TorchFunctionMode):
    """Does nothing of its own."""

    def __torch_function__(self, func, types, args=(), kwargs=None):
        return func(*args, **(kwargs or {}))


def exported(model, *inner):
    class Traced(torch.nn.Module):
        def forward(self, *args):
            with ExitStack() as stack:
                for mode in (Checked(), *inner):
                    stack.enter_context(mode)
                return model(*args)

    return torch.export.export(Traced(), INPUTS).module()


def test_a_check_passes_and_its_mask_stays_an_input():
    run = exported(Checking())
    moved = INPUTS[1].roll(2, 1)
    assert torch.equal(run(INPUTS[0], moved, INPUTS[2]), Checking()(INPUTS[0], moved, INPUTS[2]))


@pytest.mark.parametrize("inner", [[], [Passing()], [Passing(), Passing()]])
def test_the_library_may_count_whatever_stands_between(inner):
    assert torch.equal(exported(Shaping(), *inner)(*INPUTS), torch.tensor([[1.0, 2.0]]))
    with pytest.raises(TypeError):
        exported(Asking(), *inner)


def test_without_it_the_check_stops_the_trace():
    with pytest.raises(Exception, match="data-dependent"):
        torch.export.export(Checking(), INPUTS)


@pytest.mark.parametrize("model", [Asking(), Counting()])
def test_whatever_else_a_count_is_used_for_fails(model):
    with pytest.raises(TypeError):
        exported(model)

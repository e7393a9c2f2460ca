"""Questions that only save work are not asked in a trace, and all others are."""

import pytest
import torch

from assay_runner.exporting.guards import Passed

ROW = torch.tensor([7.0, 8.0, 9.0])


class Writing(torch.nn.Module):
    """Writes where a mask is, if it is anywhere."""

    def forward(self, states, mask):
        states = states + 0
        if mask.any():
            states[mask] = ROW
        return states


class Otherwise(torch.nn.Module):
    """Does something else where nothing is to be written."""

    def forward(self, states, mask):
        states = states + 0
        if mask.any():
            states[mask] = ROW
        else:
            states = states + 1
        return states


class Another(torch.nn.Module):
    """Writes under another mask."""

    def forward(self, states, mask):
        states, other = states + 0, ~mask
        if mask.any():
            states[other] = ROW
        return states


class More(torch.nn.Module):
    """Does more than write."""

    def forward(self, states, mask):
        states = states + 0
        if mask.any():
            states[mask] = ROW
            states = states + 1
        return states


STATES = torch.zeros(1, 4, 3)
MASKS = [torch.tensor([row]) != 0 for row in ([0, 1, 1, 0], [0, 0, 0, 0], [1, 1, 1, 1])]


def exported(model, mask):
    class Traced(torch.nn.Module):
        def forward(self, *args):
            with Passed():
                return model(*args)

    return torch.export.export(Traced(), (STATES, mask)).module()


@pytest.mark.parametrize("first", MASKS)
def test_what_writes_nothing_under_an_empty_mask_is_right_for_every_mask(first):
    run = exported(Writing(), first)
    for mask in MASKS:
        assert torch.equal(run(STATES, mask), Writing()(STATES, mask))


@pytest.mark.parametrize("model", [Otherwise(), Another(), More()])
def test_other_questions_stop_the_trace(model):
    with pytest.raises(Exception, match="data-dependent"):
        exported(model, MASKS[0])

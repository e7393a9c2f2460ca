"""A model that makes no mask for attention where nothing is hidden is one graph for all masks."""

import pytest
import torch

from assay_runner.exporting import masks

STATES = torch.arange(24.0).sin().reshape(1, 2, 4, 3)
MASKS = [torch.tensor([row]) for row in ([1, 1, 1, 1], [1, 1, 0, 0], [0, 1, 1, 1])]


class Shortened(torch.nn.Module):
    """Hides the last position too, as soon as anything is hidden."""

    def __init__(self, numbers):
        super().__init__()
        self.numbers, self.made = numbers, self.make

    def make(self, mask):
        if mask.all():
            return {"full": None}
        seen = mask[:, None, None, :].bool() & (torch.arange(4) < 3)
        return {"full": torch.where(seen, 0.0, -torch.inf) if self.numbers else seen}

    def forward(self, states, mask):
        attend = torch.nn.functional.scaled_dot_product_attention
        return attend(states, states, states, attn_mask=self.made(mask)["full"])


@pytest.mark.parametrize("numbers", [False, True])
@pytest.mark.parametrize("first", MASKS)
def test_the_graph_is_right_with_and_without_padding(numbers, first):
    model, own = Shortened(numbers), Shortened(numbers)
    model.made = lambda mask: masks.undecided(lambda: model.make(mask), mask)
    run = torch.export.export(model, (STATES, first)).module()
    for mask in MASKS:
        assert torch.allclose(run(STATES, mask), own(STATES, mask), atol=1e-6)


def test_without_it_the_question_stops_the_trace():
    with pytest.raises(Exception, match="data-dependent"):
        torch.export.export(Shortened(False), (STATES, MASKS[0]))

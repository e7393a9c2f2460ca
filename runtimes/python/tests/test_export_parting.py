"""Layers with experts for words and for what is seen are right for whatever tokens are marked."""

import pytest
import torch

from assay_runner.exporting.following import Known
from assay_runner.exporting.mixtures import dense
from assay_runner.exporting.notes import Notes
from assay_runner.exporting.parting import together

ernie = pytest.importorskip("transformers.models.ernie4_5_vl_moe.modeling_ernie4_5_vl_moe")

MARKS = [torch.tensor([row]) for row in ([0, 0, 0, 0, 0], [0, 1, 1, 0, 0], [2, 0, 0, 0, 1], [0, 1, 1, 1, 1])]


def layer():
    config = ernie.Ernie4_5_VLMoeTextConfig(
        hidden_size=8, moe_intermediate_size=[16, 12], moe_num_experts=4, moe_k=2, moe_num_shared_experts=1
    )
    config._experts_implementation = "eager"
    torch.manual_seed(3)
    made = ernie.Ernie4_5_VLMoeMoeBlock(config).eval()
    for weight in made.parameters():
        torch.nn.init.normal_(weight)
    return made


@pytest.mark.parametrize("first", MARKS[:2])
def test_any_token_may_be_marked(first):
    model, states = layer(), torch.randn(1, 5, 8)

    class Traced(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.model = model

        def forward(self, states, marks):
            with Known():
                return self.model(states, marks)

    with torch.no_grad(), dense(model, Notes()), together(model):
        run = torch.export.export(Traced(), (states, first)).module()
    assert "forward" not in vars(model)
    assert "forward" not in vars(model.text_moe)
    with torch.no_grad():
        for marks in MARKS:
            for found, own in zip(run(states, marks), model(states, marks), strict=True):
                assert torch.allclose(found, own, atol=1e-4)

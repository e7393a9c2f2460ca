"""Indexers that compute all queries at once choose what the library chooses one by one."""

import pytest
import torch

from assay_runner.exporting.indexers import at_once

qwen = pytest.importorskip("transformers.models.qwen4_exp.modeling_qwen4_exp")

LENGTH = 18
SEEN = [torch.tensor(row) != 0 for row in ([1] * 18, [1] * 13 + [0] * 5, [0] * 4 + [1] * 14, [1, 0, 1] * 6)]


def indexer():
    heads = {"indexer_n_heads": 8, "indexer_head_dim": 16, "indexer_kv_heads": 1}
    config = qwen.Qwen4ExpTextConfig(hidden_size=32, head_dim=16, **heads, indexer_budget=8, indexer_compress_ratio=4)
    torch.manual_seed(2)
    made = qwen.Qwen4ExpTextQSAIndexer(config, 0).eval()
    for weight in made.parameters():
        torch.nn.init.normal_(weight)
    return made


def given(seen, numbers):
    causal = torch.ones(LENGTH, LENGTH, dtype=torch.bool).tril() & seen
    mask = causal[None, None].expand(2, 1, LENGTH, LENGTH)
    return torch.where(mask, 0.0, torch.finfo(torch.float32).min) if numbers else mask.clone()


class Traced(torch.nn.Module):
    def __init__(self, own):
        super().__init__()
        self.own = own

    def forward(self, states, cos, sin, mask):
        return self.own(states, (cos, sin), mask, None)


@pytest.mark.parametrize("numbers", [False, True])
def test_what_is_chosen_at_once_is_what_is_chosen_one_by_one(numbers):
    own = indexer()
    states, angle = torch.randn(2, LENGTH, 32), torch.randn(2, LENGTH, 16)
    rest = states, angle.cos(), angle.sin()
    with torch.no_grad(), at_once(own):
        run = torch.export.export(Traced(own), (*rest, given(SEEN[0], numbers))).module()
    assert "forward" not in vars(own)
    for seen in SEEN:
        mask = given(seen, numbers)
        with torch.no_grad():
            expected = Traced(own)(*rest, mask)
        found = run(*rest, mask)
        assert found.dtype == expected.dtype
        assert torch.equal(found, expected)

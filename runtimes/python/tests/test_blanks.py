"""What initialisation leaves at zero: which tensors are drawn all the same."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")

from assay_runner.subjects import weights  # noqa: E402
from assay_runner.subjects.blanks import BLANKS, blank  # noqa: E402


def parameter(*shape: int) -> torch.nn.Parameter:
    return torch.nn.Parameter(torch.zeros(*shape))


CASES = {
    "a shut gate": ("layers.0.cross_attn_gate", parameter(1), 0.5),
    "a gate for each channel": ("alpha_cross_attn", parameter(1, 1, 8), 0.5),
    "a scale at nothing": ("text_audio_logit_scale", parameter(1), 0.5),
    "an empty codebook": ("quantizer.layers.0.codebook.embed", torch.zeros(16, 4), 0.0),
    "a projection": ("layers.0.o_proj.weight", parameter(4, 4), 0.0),
}
LEFT = {
    "a bias": ("layers.0.o_proj.bias", parameter(4)),
    "the only bias of a score": ("score.bias", parameter(1)),
    "running means": ("norm.running_mean", torch.zeros(4)),
    "a table of positions": ("position_ids", torch.zeros(1, 4, dtype=torch.int64)),
    "a projection that is not blank": ("o_proj.weight", torch.nn.Parameter(torch.eye(4))),
}


@pytest.mark.parametrize("case", CASES)
def test_blank(case: str) -> None:
    name, tensor, mean = CASES[case]
    draw = blank(name, tensor)
    assert draw is not None and draw.mean == mean and draw.std > 0


@pytest.mark.parametrize("case", LEFT)
def test_left_alone(case: str) -> None:
    assert blank(*LEFT[case]) is None


def test_rows_have_reasons() -> None:
    assert all(row.why for row in BLANKS)


def test_a_gated_part_is_seen() -> None:
    class Gated(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.gate = parameter(1)
            self.inner = torch.nn.Linear(4, 4)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x + self.gate * self.inner(x)

    drawn, again = (weights.drawn(Gated, 0) for _ in range(2))
    x = torch.ones(1, 4)
    assert not torch.equal(drawn.model(x), x)
    assert torch.equal(drawn.model(x), again.model(x)) and "gate" in drawn.draws

import hashlib
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
import torch_recipes
from torch import nn

from assay_runner.subjects import models, weights
from assay_runner.subjects.operators import truncated
from assay_runner.subjects.programs import building

RECIPES = list(torch_recipes.ALL.values())


def digest(model):
    total = hashlib.sha256()
    for name, t in weights.named_tensors(model):
        total.update(name.encode())
        total.update(weights.flat(t.detach().contiguous()).tobytes())
    return total.hexdigest()


def std(tensor):
    return tensor.detach().float().std().item()


def plain(recipe, seed):
    torch.manual_seed(seed)
    return models.model_class(recipe)(models.config(recipe))


@pytest.mark.parametrize("recipe", RECIPES, ids=lambda r: r["type"])
def test_what_initialisation_randomises_is_drawn_and_nothing_else(recipe):
    drawn = weights.drawn(lambda: models.model_class(recipe)(models.config(recipe)), 0)
    one, two = dict(weights.named_tensors(plain(recipe, 1))), dict(weights.named_tensors(plain(recipe, 2)))
    ours = dict(weights.named_tensors(drawn.model))
    assert ours.keys() == one.keys()
    for name, value in one.items():
        if torch.equal(value, two[name]):
            assert name not in drawn.draws, name
            assert torch.equal(value, ours[name]), name
        else:
            assert name in drawn.draws, name
            assert std(ours[name]) == pytest.approx(std(value), rel=0.35), name


def test_same_bits_whatever_the_process(tmp_path):
    program = tmp_path / "hash.py"
    here = Path(__file__).parent
    program.write_text(
        f"import sys; sys.path[:0] = [{str(here)!r}, {str(here.parent)!r}]\n"
        "import torch, test_weights, torch_recipes\n"
        "from assay_runner.subjects.programs import building\n"
        "seed, threads = int(sys.argv[1]), int(sys.argv[2])\n"
        "torch.manual_seed(seed); torch.set_num_threads(threads)\n"
        "for recipe in (torch_recipes.BERT, torch_recipes.WHISPER):\n"
        "    print(test_weights.digest(building.build(recipe, torch.float32, 0, threads=threads).model))\n"
    )

    def output(seed, threads):
        env = {**os.environ, "OMP_NUM_THREADS": threads, "OPENBLAS_NUM_THREADS": "1"}
        return subprocess.run(
            [sys.executable, program, seed, threads], env=env, capture_output=True, text=True, check=True
        ).stdout.split()

    first = output("1", "1")
    assert len(set(first)) == 2
    assert first == output("99", "2")
    assert first[0] == digest(building.build(torch_recipes.BERT, torch.float32, 0).model)


def test_seed_gain_and_name_matter():
    base = building.build(torch_recipes.BERT | {"gain": 1.0}, torch.float32, 0).model
    other = building.build(torch_recipes.BERT | {"gain": 1.0}, torch.float32, 1).model
    strong = building.build(torch_recipes.BERT | {"gain": 4.0}, torch.float32, 0).model
    name = "bert.encoder.layer.0.intermediate.dense.weight"
    a, b, c = (m.get_parameter(name).detach() for m in (base, other, strong))
    assert not torch.equal(a, b)
    torch.testing.assert_close(a * 4, c, rtol=1e-6, atol=0)
    assert not torch.equal(a, base.get_parameter(name.replace("layer.0", "layer.1")))


def test_tied_weights_stay_tied():
    model = building.build(torch_recipes.LLAMA, torch.float32, 0).model
    assert model.lm_head.weight is model.model.embed_tokens.weight
    assert model.lm_head.weight.std() > 0


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_rounds_the_same_stream(dtype):
    wide = building.build(torch_recipes.LLAMA, torch.float32, 0).model
    half = building.build(torch_recipes.LLAMA, dtype, 0).model
    assert half.dtype == dtype
    for name, value in wide.named_parameters():
        assert torch.equal(value.to(dtype), half.get_parameter(name)), name
    assert half.model.rotary_emb.inv_freq.dtype == torch.float32


def test_the_global_generators_are_left_alone():
    torch.manual_seed(5)
    np.random.seed(5)
    expected = torch.rand(3), np.random.rand(3)
    torch.manual_seed(5)
    np.random.seed(5)
    weights.drawn(lambda: nn.Linear(3, 3), 0)
    assert torch.equal(torch.rand(3), expected[0])
    assert (np.random.rand(3) == expected[1]).all()


class Odd(nn.Module):
    """Ways of initialising that models really have, in one place."""

    def __init__(self):
        super().__init__()
        self.scaled = nn.Parameter(torch.randn(64, 64) * 0.02 + 1.0)
        self.padded = nn.Embedding(32, 16, padding_idx=3)
        self.orthogonal = nn.Parameter(nn.init.orthogonal_(torch.empty(16, 16)))
        self.normed = nn.utils.parametrizations.weight_norm(nn.Conv1d(16, 16, 3))
        self.packed = nn.Parameter(torch.empty(3, 16, 16))
        for part in self.packed.unbind():
            nn.init.xavier_uniform_(part)
        self.partly = nn.Parameter(torch.zeros(8, 32))
        nn.init.normal_(self.partly[:, :16], std=0.5)
        self.cut = nn.Parameter(nn.init.trunc_normal_(torch.empty(64, 64), std=0.02))
        self.rates = nn.Parameter(torch.empty(64).uniform_(1, 16).log())
        self.joined = nn.Parameter(torch.cat([torch.rand(32), torch.zeros(32)]))
        self.copied = nn.Linear(16, 16)
        self.copied.weight.data.copy_(torch.randn(16, 16) * 0.1)
        self.register_buffer("table", torch.randn(2, 32), persistent=False)
        self.register_buffer("steps", torch.arange(8.0))
        self.attribute = torch.randn(5)
        self.zeroed = nn.Linear(8, 8)
        nn.init.zeros_(self.zeroed.weight)
        nn.init.constant_(self.zeroed.bias, 2.0)


def test_odd_ways_of_initialising():
    drawn = weights.drawn(Odd, 0)
    model, again = drawn.model, weights.drawn(Odd, 0).model
    assert digest(model) == digest(again)
    assert torch.equal(model.attribute, again.attribute)
    assert model.attribute.std() > 0
    structure = {"zeroed.bias", "steps"}  # a matrix of zeros is blank, and drawn
    assert {n for n, _ in weights.named_tensors(model)} - set(drawn.draws) == structure
    assert model.scaled.mean().item() == pytest.approx(1.0, abs=0.001)
    assert std(model.scaled) == pytest.approx(0.02, rel=0.05)
    assert (model.padded.weight[3] == 0).all()
    assert (model.padded.weight[4] != 0).all()
    assert std(model.orthogonal) == pytest.approx(0.25, rel=0.2)
    assert std(model.packed[0]) == pytest.approx((2 / (16 + 16)) ** 0.5, rel=0.2)
    assert not torch.equal(model.packed[0], model.packed[1])
    assert (model.partly[:, 16:] == 0).all()
    assert std(model.partly[:, :16]) == pytest.approx(0.5, rel=0.2)
    assert std(model.cut) == pytest.approx(0.02, rel=0.05)
    assert 1.5 < model.rates.mean() < 2.6
    assert (model.joined[32:] == 0).all()
    assert (model.joined[:32] > 0).any()
    assert std(model.copied.weight) == pytest.approx(0.1, rel=0.2)
    assert std(model.table) == pytest.approx(1.0, rel=0.3)
    assert (model.zeroed.bias == 2).all()


def test_moments_of_a_truncated_normal():
    draw = truncated(0.0, 1.0, -2.0, 2.0)
    sample = nn.init.trunc_normal_(torch.empty(200_000), 0.0, 1.0, -2.0, 2.0)
    assert draw.std == pytest.approx(sample.std().item(), rel=0.01)
    shifted = truncated(0.0, 1.0, 0.0, 5.0)
    sample = nn.init.trunc_normal_(torch.empty(200_000), 0.0, 1.0, 0.0, 5.0)
    assert (shifted.mean, shifted.std) == (
        pytest.approx(sample.mean().item(), rel=0.01),
        pytest.approx(sample.std().item(), rel=0.01),
    )


class Forgetful(nn.Module):
    """A released model leaves its experts as memory was."""

    def __init__(self):
        super().__init__()
        self.never = nn.Parameter(torch.empty(64, 64))
        self.ones = nn.Parameter(torch.empty(4))
        nn.init.ones_(self.ones)
        self.two = nn.Parameter(torch.empty(8))
        self.two.data[:4] = 1.0
        self.two.data[4:] = 2.0
        self.register_buffer("room", torch.empty(8))


def test_a_parameter_that_no_initialisation_writes_to_is_drawn():
    drawn = weights.drawn(Forgetful, 0)
    assert set(drawn.draws) == {"never"}
    assert std(drawn.model.never) == pytest.approx(0.02, rel=0.05)
    assert drawn.model.ones.tolist() == [1.0] * 4
    assert drawn.model.two.tolist() == [1.0] * 4 + [2.0] * 4
    assert drawn.model.room.tolist() == [0.0] * 8

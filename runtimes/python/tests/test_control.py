import pytest
import torch
import torch_recipes

from assay_runner.checking import control, damages
from assay_runner.checking.tolerances import Tolerance
from assay_runner.subjects.programs import building


def names(recipe, kind):
    model = building.build(recipe, torch.float32, 0).model
    ids = {id(p) for p in damages.targets(model, kind)}
    return {name for name, p in model.named_parameters() if id(p) in ids}


@pytest.mark.parametrize("recipe", torch_recipes.ALL.values(), ids=lambda r: r["type"])
def test_attention_is_found_in_every_layer(recipe):
    found = names(recipe, "zero-attention")
    assert found
    assert not any("norm" in name.lower() for name in found)
    layers = sum(
        v for k, v in recipe["config"].items() if k in ("num_hidden_layers", "encoder_layers", "decoder_layers")
    )
    assert len({n.rsplit(".", 1)[0] for n in found}) >= layers


def test_tables_name_what_is_meant():
    assert names(torch_recipes.LLAMA, "zero-attention") == {f"model.layers.{i}.self_attn.o_proj.weight" for i in (0, 1)}
    assert all(".mlp." in name for name in names(torch_recipes.LLAMA, "zero-mlp"))
    assert names(torch_recipes.BERT, "zero-attention") == {
        f"bert.encoder.layer.{i}.attention.output.dense.{part}" for i in (0, 1) for part in ("weight", "bias")
    }


def test_zeroed_restores():
    linear = torch.nn.Linear(3, 3)
    before = linear.weight.detach().clone()
    with damages.zeroed([linear.weight]):
        assert (linear.weight == 0).all()
    assert torch.equal(linear.weight, before)
    with damages.zeroed([linear.weight], restore=False):
        pass
    assert (linear.weight == 0).all()


def test_a_control_that_finds_nothing_fails():
    model = torch.nn.Sequential(torch.nn.Linear(2, 2))
    seen = control.measure(model, "zero-attention", dict, {}, dict, {}, Tolerance(1e-3))
    assert not seen.passed
    assert "no part" in seen.note

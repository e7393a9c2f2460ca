from pathlib import Path

import pytest
import torch
import torch_recipes

from assay_runner.subjects import inputs, layered, mapped, outputs
from assay_runner.subjects.programs import building


def test_layer_by_layer_is_what_the_wide_model_gives():
    recipe = torch_recipes.BERT
    narrow = building.build(recipe, torch.bfloat16, 0).model
    tensors = inputs.make(recipe, {"batch": 1}, 0, torch.float32)
    before = {name: t.data_ptr() for name, t in narrow.state_dict().items()}
    with torch.inference_mode(), layered.widened(narrow, torch.float32):
        found = outputs.flatten(narrow(**tensors, **recipe["call"]))
    assert {name: t.data_ptr() for name, t in narrow.state_dict().items()} == before
    assert not any("forward" in vars(module) for module in narrow.modules())
    with torch.inference_mode():
        expected = outputs.flatten(narrow.float()(**tensors, **recipe["call"]))
    assert all(torch.equal(found[name], t) for name, t in expected.items())


class Layer(torch.nn.Linear):
    """A layer that notes which of its model's layers are wide while it runs."""

    def __init__(self, seen):
        super().__init__(4, 4, dtype=torch.bfloat16)
        self.seen = seen

    def forward(self, x):
        self.seen.append([layer.weight.dtype for layer in self.all()])
        return super().forward(x)


def test_one_layer_is_wide_at_a_time_and_what_raises_narrows_it():
    seen = []
    model = torch.nn.Sequential()
    model.layers = torch.nn.ModuleList(Layer(seen) for _ in range(3))
    for layer in model.layers:
        layer.all = lambda: list(model.layers)
    with layered.widened(model, torch.float32):
        for layer in model.layers:
            layer(torch.ones(4))
        with pytest.raises(RuntimeError):
            model.layers[0](torch.ones(5))
    wide, narrow = torch.float32, torch.bfloat16
    assert seen[:3] == [[wide, narrow, narrow], [narrow, wide, narrow], [narrow, narrow, wide]]
    assert {t.dtype for t in model.parameters()} == {narrow}


@pytest.mark.skipif(not Path("/proc/self/maps").exists(), reason="this system does not tell what is mapped")
def test_large_tensors_lie_in_files_and_hold_the_same_weights(tmp_path, monkeypatch):
    monkeypatch.setattr(mapped, "LEAST_BYTES", 1 << 10)
    plain = building.build(torch_recipes.BERT, torch.bfloat16, 3).model.state_dict()
    with mapped.Files(tmp_path):
        model = building.build(torch_recipes.BERT, torch.bfloat16, 3).model
    assert all(torch.equal(t, plain[name]) for name, t in model.state_dict().items())
    assert not list(tmp_path.iterdir())  # a file's name is gone, and its pages stay for as long as the tensor
    assert f"{tmp_path}/weights.part (deleted)" in Path("/proc/self/maps").read_text()

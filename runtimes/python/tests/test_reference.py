"""A wide run leaves nothing behind in the model: neither tensors nor what modules remember."""

import pytest
import torch
from torch import nn

from assay_runner.checking import reference
from assay_runner.subjects.programs import building


class Cache:
    def __init__(self):
        self.entries = {}


class Remembering(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 4)
        self.table, self.seen, self.cache = None, [], Cache()

    def forward(self, x):
        if self.table is None:
            self.table = torch.ones(4, dtype=x.dtype)
        bias = self.cache.entries.setdefault("bias", torch.ones(4, dtype=x.dtype))
        self.seen.append(x.dtype)
        return {"y": self.layer(x) * self.table + bias}


def built(model):
    return building.Built(model.eval(), 20, None, {})


def forward(model, inputs):
    with torch.no_grad():
        return model(**inputs)


def test_what_modules_remember_is_forgotten():
    model = Remembering()
    x = {"x": torch.ones(2, 4)}
    found = reference.compute(built(model), False, [x], forward, lambda other: None, None)
    assert found.label == "cpu fp64" and found.outputs[0]["y"].dtype == torch.float64
    assert model.table is None and model.seen == [] and model.cache.entries == {}
    assert forward(model, x)["y"].dtype == torch.float32


class Scaling(torch.nn.Linear):
    """Halves its weights when it first runs, as RWKV does with those of later layers."""

    scaled = False

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if not self.scaled:
            with torch.no_grad():
                self.weight.div_(2)
            self.scaled = True
        return super().forward(x)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_a_model_that_changes_its_weights_remembers_it(dtype: torch.dtype):
    model, x = Scaling(4, 4, bias=False), torch.ones(1, 4)
    halved = model.weight.detach().sum(1) / 2
    for _ in range(2):
        with reference.widened(model, dtype):
            found = model(x.to(dtype)).detach()
        torch.testing.assert_close(found[0].float(), halved)
    torch.testing.assert_close(model(x)[0].detach(), halved)


def test_what_is_not_a_number_is_no_reference():
    class Overflowing(Remembering):
        def forward(self, x):
            y = super().forward(x)["y"]
            return {"y": y / 0 * 0 if x.dtype == torch.float64 else y}

    found = reference.compute(built(Overflowing()), False, [{"x": torch.ones(2, 4)}], forward, lambda other: None, None)
    assert found.outputs is None and "not numbers" in found.note


def test_noise_is_the_models_own():
    class Noisy(Remembering):
        def forward(self, x):
            filled = torch.empty(8, dtype=x.dtype).normal_()
            return {
                "y": torch.cat([torch.rand(8, dtype=x.dtype), torch.randn_like(x).flatten(), filled, torch.rand(4)])
            }

    def seeded(model, inputs):
        torch.manual_seed(3)
        return forward(model, inputs)

    model, x = Noisy(), {"x": torch.ones(2, 4)}
    found = reference.compute(built(model), False, [x], seeded, lambda other: None, None)
    assert found.outputs[0]["y"].dtype == torch.float64
    assert torch.equal(found.outputs[0]["y"].float(), seeded(model, x)["y"])


class Converting(nn.Module):
    """Converts a layer each time it is called, as routers of experts do."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 4)

    def forward(self, x):
        self.layer = self.layer.to(torch.float32)
        return self.layer(x.to(torch.float32))


def test_layers_that_are_converted_can_be_traced_afterwards():
    model, x = Converting(), {"x": torch.ones(2, 4)}
    before = model.layer.weight.detach().clone()
    with reference.wide(built(model), torch.float64, forward) as run, torch.inference_mode():
        run(x)
    assert not any(p.is_inference() for p in model.parameters())
    assert torch.equal(model.layer.weight, before)

"""Programs: models that draw noise in their forward."""

import functools

import pytest
import torch
from torch_emit import Emit, job
from transformers import BertModel, Qwen2_5OmniToken2WavModel

from assay_runner.engines.torch import engine
from assay_runner.subjects import inputs, outputs
from assay_runner.subjects.fitting import controls
from assay_runner.subjects.fitting import program_choice as plans
from assay_runner.subjects.programs import building, sample
from assay_runner.subjects.recipes import making

BATCHES = [{"batch": 1}, {"batch": 2}, {"batch": 3}]


class Draws(torch.nn.Module):
    """Gives the noise that it drew, in both ways to ask for it."""

    def forward(self, rows, dtype):
        return torch.randn([rows, 3], dtype=dtype), torch.randn(rows, 2, 2, dtype=dtype)


@functools.cache
def recipe():
    return making.tiny("qwen2_5_omni_token2wav")


@pytest.mark.parametrize(("cls", "program"), [(Qwen2_5OmniToken2WavModel, "sample"), (BertModel, "")])
def test_a_model_that_removes_noise_in_steps_is_run_by_sampling(cls, program):
    assert plans.choose(cls, {}).program == program


def test_noise_is_the_same_in_every_dtype_and_for_every_neighbour():
    model = sample.Sampling(Draws())
    first, second = model(torch.tensor([7, 8]), rows=2, dtype=torch.float32)
    double, _ = model(torch.tensor([7, 8]), rows=2, dtype=torch.float64)
    assert first.shape == (2, 3) and second.shape == (2, 2, 2)
    assert double.dtype == torch.float64 and torch.equal(double.float(), first)
    alone, _ = model(torch.tensor([8]), rows=1, dtype=torch.float32)
    assert torch.equal(alone[0], first[1]) and not torch.equal(first[0], first[1])


def test_noise_outside_is_torchs_own():
    sample.Sampling(Draws())(torch.tensor([7]), rows=1, dtype=torch.float32)
    torch.manual_seed(0)
    one = torch.randn(4)
    torch.manual_seed(0)
    assert torch.equal(one, torch.randn(4))
    assert not torch.equal(one, torch.randn(4))


def test_another_noise_is_another_sound():
    model = building.build(recipe(), torch.float32, 0).model
    given = inputs.make(recipe(), {"batch": 1}, 0, torch.float32)
    with torch.inference_mode():
        one, same = (outputs.flatten(model(**given, **recipe()["call"]))["output"] for _ in range(2))
        other = outputs.flatten(model(**{**given, "noise": given["noise"] + 1}, **recipe()["call"]))["output"]
    assert torch.equal(one, same) and not torch.equal(one, other)


def test_sound_that_is_clipped_throughout_is_no_sound_to_check():
    loud = torch.tensor([1.0, -1.0, 1.0])
    assert controls.clipped({"output": loud})
    assert not controls.clipped({"output": loud * torch.tensor([1.0, 1.0, 0.5])})
    assert not controls.clipped({"output": loud, "logits": torch.tensor([0.1, 0.2])})
    model = building.build(recipe(), torch.float32, 0).model
    with torch.inference_mode():
        sound = model(**inputs.make(recipe(), {"batch": 1}, 0, torch.float32), **recipe()["call"])
    assert not controls.clipped({"output": sound})


def test_sampling_runs_in_batches_and_its_check_can_fail():
    emit = Emit()
    engine.run(job(recipe(), points=BATCHES), emit)
    assert len(emit.reports) == len(BATCHES)
    for report in emit.reports.values():
        assert report["finite"] and not report["constant"]
        assert report["numerics"]["pass"] and report["numerics"]["reference"] == "cpu fp64"
        assert report["numerics"]["control"]["pass"]

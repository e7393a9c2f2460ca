"""What mixtures and state spaces say of a run: experts used, kernels that ran."""

import functools
import sys

import numpy
import pytest
import torch
import torch_recipes
from torch_emit import Emit, job
from transformers.integrations import use_kernel_func_from_hub_with_fallback

from assay_runner.engines.torch import engine, kernels
from assay_runner.subjects import experts, inputs
from assay_runner.subjects.programs import building
from assay_runner.subjects.recipes import making


@functools.cache
def tiny(model_type):
    return making.tiny(model_type)


def checked(recipe):
    emit = Emit()
    engine.run(job(recipe), emit)
    return emit.reports[0]


@pytest.mark.parametrize("model_type", ["mixtral", "switch_transformers", "nllb-moe", "jetmoe", "gpt_oss"])
def test_a_tiny_mixture_uses_several_experts_of_every_layer(model_type):
    report = checked(tiny(model_type))["experts"]
    assert report["layers"] == len(report["used"]) >= 1
    assert report["experts"] == 4
    assert all(2 <= used <= 4 for used in report["used"])
    assert report["used_share"] == pytest.approx(sum(report["used"]) / (4 * report["layers"]))


def test_an_expert_that_nobody_chooses_is_not_counted():
    recipe = tiny("mixtral")
    model = building.build(recipe, torch.float32, 0).model
    router = model.model.layers[0].mlp.gate
    router.weight.data.zero_()  # all logits are equal: the first two experts win for every token
    given = inputs.make(recipe, {"batch": 2}, 0, torch.float32)
    with torch.inference_mode(), experts.watching(model) as seen:
        model(**given, **recipe["call"])
    assert seen.report()["used"][0] == 2
    assert not any(module._forward_pre_hooks for module in model.modules())


def test_a_mixture_is_checked_against_double_precision():
    assert checked(tiny("mixtral"))["numerics"]["reference"] == "cpu fp64"
    model = building.build(tiny("mixtral"), torch.float32, 0).model
    before = model.config._experts_implementation
    with experts.looped(model):
        assert model.config._experts_implementation == "eager"
    assert model.config._experts_implementation == before


def test_a_plain_model_has_no_experts_and_no_choice_of_kernels():
    report = checked(torch_recipes.BERT)
    assert report["experts"] is None
    assert report["kernels"] is None


def test_kernels_that_ran_are_named_and_others_are_not():
    seen = checked(tiny("mamba"))["kernels"]
    assert set(seen) == {"causal_conv1d_fn", "selective_scan_fn"}  # the steps of a decoder are not taken
    assert set(seen.values()) == {"reference"}


def test_a_package_that_is_there_is_told_with_its_version(monkeypatch):
    recipe = tiny("mamba")
    model = building.build(recipe, torch.float32, 0).model
    module = sys.modules[type(model).__module__]

    @use_kernel_func_from_hub_with_fallback("broadcast_shapes", "numpy")
    def reference(*shapes):
        raise AssertionError("the package's own function is there")

    monkeypatch.setattr(module, "some_kernel", reference, raising=False)
    with kernels.watching(model) as seen:
        assert module.some_kernel((2, 1), (1, 3)) == (2, 3)
    assert seen == {"broadcast_shapes": f"fast:numpy {numpy.__version__}"}
    assert module.some_kernel is reference


def test_older_releases_keep_the_function_or_none(monkeypatch):
    model = building.build(tiny("mamba"), torch.float32, 0).model
    module = sys.modules[type(model).__module__]
    monkeypatch.setattr(module, "mamba_chunk_scan_combined", None, raising=False)
    with kernels.watching(model) as seen:
        pass
    assert seen == {"mamba_chunk_scan_combined": "reference"}

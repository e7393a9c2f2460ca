"""Masks that recipes get: those that a model heeds, and no other parameter that is named as one."""

import pytest
import torch
import transformers

from assay_runner.subjects import samples
from assay_runner.subjects.fitting import padding_masks, special
from assay_runner.subjects.fitting.search import Fitted
from assay_runner.subjects.recipes import making

STATES = {"name": "states", "kind": "float", "dtype": "float32", "shape": ["batch", "seq", 4]}


class Toy(torch.nn.Module):
    """The mean of what its mask lets through, at every position."""

    config = transformers.PretrainedConfig()

    def mean(self, states, mask):
        mask = torch.ones(states.shape[:2]) if mask is None else mask
        seen = (states * mask[..., None]).sum(1, keepdim=True) / mask.sum(1)[:, None, None]
        return {"states": states + seen}


class Heeds(Toy):
    def forward(self, states, attention_mask=None):
        return self.mean(states, attention_mask)


class Ignores(Toy):
    def forward(self, states, attention_mask=None):
        return self.mean(states, None)


class Marks(Toy):
    """Its mask says which positions are of another kind."""

    def forward(self, states, global_mask=None):
        return self.mean(states if global_mask is None else states + global_mask[..., None], None)


class Four(Toy):
    """It takes a mask of four positions only."""

    def forward(self, states, attention_mask=None):
        return self.mean(states, attention_mask if attention_mask is None else attention_mask.reshape(len(states), 4))


class Switch(Toy):
    def forward(self, states, output_attention_mask=False):
        if output_attention_mask:
            return (self.mean(states, None), states)
        return self.mean(states, None)


def complete(model, size=4, **row):
    fitted = Fitted([STATES], {"seq": size})
    return padding_masks.complete(model, fitted, special.Inputs(**row), {"type": "toy"})


def test_a_mask_that_is_heeded_becomes_an_input():
    found = complete(Heeds())
    assert found.fitted.inputs == [
        STATES,
        {"name": "attention_mask", "kind": "ones", "dtype": "int64", "shape": ["batch", "seq"]},
    ]
    assert found.without == {}


@pytest.mark.parametrize(
    ("model", "name", "why"),
    [
        (Ignores(), "attention_mask", padding_masks.UNHEEDED),
        (Marks(), "global_mask", padding_masks.NOT_PADDING),
        (Switch(), "output_attention_mask", padding_masks.NO_SHAPE),
    ],
)
def test_other_masks_are_left_out_with_the_reason(model, name, why):
    found = complete(model)
    assert found.fitted.inputs == [STATES]
    assert found.without == {name: why}


def test_a_mask_must_fit_every_size_that_is_free():
    assert complete(Four()).without == {"attention_mask": padding_masks.FIXED}


def test_what_a_row_keeps_away_is_not_tried():
    found = complete(Heeds(), without=frozenset({"attention_mask"}))
    assert (found.fitted.inputs, found.without) == ([STATES], {})


# One for each place where a mask may stand: words of a decoder, samples of a wave, frames, pixels, patches, queries.
MASKED = {
    "bart": {"attention_mask": ["batch", "seq"], "decoder_attention_mask": ["batch", "target"]},
    "whisper": {"decoder_attention_mask": ["batch", "target"]},
    "wav2vec2": {"attention_mask": ["batch", "samples"]},
    "parakeet_ctc": {"attention_mask": ["batch", 96]},
    "detr": {"pixel_mask": ["batch", "image", "image"]},
    "vit": {"attention_mask": ["batch", 17]},
}


@pytest.mark.parametrize("model_type", MASKED)
def test_recipes_have_the_masks_that_their_models_heed(catalogue, model_type):
    recipe = catalogue[model_type]
    given = {spec["name"]: spec["shape"] for spec in recipe["inputs"] if samples.MASK.fullmatch(spec["name"])}
    assert given == MASKED[model_type]
    bare = [spec for spec in recipe["inputs"] if spec["name"] not in given]
    assert making.masked({**recipe, "inputs": bare})["inputs"] == [*bare, *recipe["inputs"][len(bare) :]]

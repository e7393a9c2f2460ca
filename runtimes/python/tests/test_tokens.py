"""Tokens and their times: counted by id, the same as a loop's, whatever keeps the past; and faults that are planted."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch
import torch_recipes
from torch_emit import Emit, job

from assay_runner.engines.torch import engine
from assay_runner.errors import Unsuited
from assay_runner.subjects import generation, inputs, streams
from assay_runner.subjects.programs import building, continuing

RECIPES = Path(__file__).parents[3] / "internal/catalog/data/recipes.json"
KINDS = {
    "llama": "decoder-only",
    "t5": "encoder-decoder",
    "whisper": "speech to text",
    "git": "image to text",
    "llava": "image and text to text",
}

CACHES = ["dynamic", "static", "off"]
REFUSED = {("git", "static")}  # its own code joins a mask of four axes with one of two, and raises


def recipe_of(kind):
    return next(row for row in json.loads(RECIPES.read_text())["recipes"] if row["type"] == kind)


def checked(recipe, **cell):
    emit = Emit()
    engine.run(job(recipe, "check", mode="generate", **cell), emit)
    return emit.reports[0]


def looped(model, given, new):
    """A loop of plain forwards: no `generate`, no cache."""
    name = "decoder_input_ids" if model.config.is_encoder_decoder else "input_ids"
    given = dict(given)
    if name == "decoder_input_ids" and not type(model).__name__.startswith("Whisper"):
        start = torch.full((given[name].shape[0], 1), continuing.start(model.generation_config))
        given[name] = torch.cat([start, given[name]], 1)
    chosen = []
    for _ in range(new):
        with torch.inference_mode():
            last = model(**given, use_cache=False).logits[:, -1].argmax(-1, keepdim=True)
        chosen.append(last)
        given[name] = torch.cat([given[name], last], 1)
        if name == "input_ids" and "attention_mask" in given:
            given["attention_mask"] = torch.ones_like(given[name])
    return torch.cat(chosen, 1)


@pytest.mark.parametrize(("kind", "cache"), [(k, c) for k in KINDS for c in CACHES if (k, c) not in REFUSED])
def test_tokens_are_those_of_a_plain_loop(kind, cache):
    plain = recipe_of(kind)
    recipe = generation.recipe(plain, {"tokens": 6, "cache": cache})
    model = building.build(recipe, torch.float32, 3).model
    given = inputs.make(recipe, {"batch": 2}, 3, torch.float32)
    with torch.inference_mode():
        made = model(**given)["generated"]
    assert made.tolist() == looped(model.model, given, 6).tolist()
    told = model.generation()
    assert told["ids"] == made.tolist()
    assert told["new_tokens"] == len(told["streams_ms"][0]) == 6


@pytest.mark.parametrize("tokens", [1, 5, 40])
def test_as_many_tokens_as_asked_for(tokens):
    report = checked(torch_recipes.LLAMA, tokens=tokens)
    assert report["numerics"]["pass"]
    told = report["generation"]
    assert (told["new_tokens"], told["agreed_tokens"], told["one_pass"]["tokens"]) == (tokens,) * 3
    assert len(told["streams_ms"][0]) == len(told["ids"][0]) == tokens


def test_the_usual_number_is_the_subject_that_it_was():
    usual, sixteen, more = (
        checked(torch_recipes.LLAMA, **cell)["subject_hash"] for cell in ({}, {"tokens": 16}, {"tokens": 17})
    )
    assert usual == sixteen != more
    assert checked(torch_recipes.LLAMA, cache="static")["subject_hash"] == usual  # the same is computed


def test_a_state_has_no_cache_of_a_fixed_size():
    with pytest.raises(Unsuited, match="state of its own"):
        checked(recipe_of("rwkv"), cache="static")


def test_a_token_counted_twice_is_noticed(monkeypatch):
    put = continuing._Tokens.put

    def twice(self, value):
        put(self, value)
        if value.dim() == 1:
            put(self, value)

    monkeypatch.setattr(continuing._Tokens, "put", twice)
    with pytest.raises(streams.WrongCount, match="32 tokens were counted where 16"):
        checked(torch_recipes.LLAMA)


def test_chunks_are_counted_by_their_ids():
    clock = streams.Clock()
    clock.begin()
    for chunk in ([1], [2, 3, 4], [5, 6]):
        clock.step(*([token] for token in chunk))
    clock.end(6)
    told = clock.report(4, 6, 1)
    assert told["ids"] == [[1, 2, 3, 4, 5, 6]]
    assert len(set(told["streams_ms"][0])) == 3
    with pytest.raises(streams.WrongCount):
        clock.end(3)  # the number of chunks


def test_times_that_were_given_to_other_tokens_are_noticed():
    clock = streams.Clock()
    clock.begin()
    clock.step(np.array([7]))
    clock.step()  # a time without a token
    with pytest.raises(streams.WrongCount, match="1 and 2 tokens"):
        clock.end(2)


def test_another_text_is_counted_as_strayed():
    clock = streams.Clock()
    for text in ([1, 2], [1, 2], [1, 3]):
        clock.begin()
        for token in text:
            clock.step([token])
    assert clock.report(1, 2, 1)["strayed"] == 1


def test_a_cache_that_loses_its_past_is_noticed_by_one_pass(monkeypatch):
    """The reference is the same code and loses it too: only the pass without a cache tells."""
    from transformers.cache_utils import DynamicLayer

    update = DynamicLayer.update

    def lossy(self, keys, values, *args, **more):
        keys, values = update(self, keys, values, *args, **more)
        if values.shape[2] > 16:
            values = values.clone()
            values[:, :, :8] = 0
        return keys, values

    monkeypatch.setattr(DynamicLayer, "update", lossy)
    report = checked(torch_recipes.LLAMA)
    assert report["numerics"]["pass"]
    once = report["generation"]["one_pass"]
    assert once["pass"] is False
    assert once["max_rel"] > 10 * once["tolerance"]


def test_a_device_is_awaited_before_a_token_counts():
    """A stamp is taken when the id is on the host: the streamer is given a copy there."""
    seen = []

    class Watched(continuing._Tokens):
        def put(self, value):
            seen.append(value.device.type)
            super().put(value)

    model = building.build(generation.recipe(torch_recipes.LLAMA), torch.float32, 0).model
    clock = streams.Clock()
    clock.begin()
    with torch.inference_mode():
        model.model.generate(**inputs.make(torch_recipes.LLAMA, {}, 0, torch.float32), streamer=Watched(clock))
    assert set(seen) == {"cpu"}
    clock.end(16)

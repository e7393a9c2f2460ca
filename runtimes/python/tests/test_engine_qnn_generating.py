"""Generation with a cache of a fixed size: the loop alone, and tiny models on Qualcomm's emulator."""

import platform
import sys

import numpy as np
import pytest
import torch_recipes
from torch_emit import Emit, job

from assay_runner.engines.graphs import driver
from assay_runner.engines.qnn import greedy
from assay_runner.errors import BeyondAssay, UnsupportedDType
from assay_runner.subjects import generation, streams

NEW = generation.NEW_TOKENS
WORDS = 11

emulator = pytest.mark.skipif(
    (sys.platform, platform.machine()) != ("linux", "x86_64"), reason="Qualcomm's emulator is for Linux on x86-64"
)


@pytest.fixture(scope="module")
def exports(tmp_path_factory):
    return str(tmp_path_factory.mktemp("exports"))


def run(exports, recipe, kind="check", batch=1, **cell):
    emit = Emit()
    where = {"platform": "qnn", "engine": "qnn", "dtype": "fp16", "mode": "generate", **cell}
    driver.run(job(recipe, kind, ({"batch": batch},), **where) | {"options": {"exports": exports}}, emit)
    return emit.reports[0]


def chosen_next(text):
    """A word that depends on every word before it and on where it stands."""
    return int(sum((i + 1) * word for i, word in enumerate(text)) % WORDS)


def toy(given):
    """A model whose cache holds its words: what it chooses is told by those that the mask shows."""
    cache = given.get("past_words", np.zeros((1, 1, given["visible"].shape[-1], 1), np.float32))
    ids, places = given["input_ids"], given["places"]
    if "slot" in given:
        assert cache[..., places[0, 0], 0] == 0  # nobody was there before
        cache = cache + given["slot"] * ids.reshape(1, 1, 1, 1)
    else:
        cache[0, 0, places[0], 0] = ids[0]
    seen = np.flatnonzero(given["visible"][0, 0, -1] == 0)
    assert seen.tolist() == list(range(places[0, -1] + 1))
    logits = np.eye(WORDS, dtype=np.float32)[[chosen_next(cache[0, 0, seen, 0])]]
    return {"logits": logits, "words": cache}


@pytest.mark.parametrize("prompt", [[3], [1, 2, 3], [10, 0, 0, 7, 5]])
def test_each_step_sees_the_text_so_far(prompt):
    text = list(prompt)
    for _ in range(6):
        text.append(chosen_next(text))
    made = greedy.continued(toy, toy, np.array([prompt]), 6, streams.Clock())
    assert made["generated"].tolist() == [text[len(prompt) :]]
    assert made["logits"].shape == (1, 6, WORDS)


def test_tokens_of_a_prompt_see_those_before_them():
    mask = greedy.asked(np.array([[5, 6, 7], [1, 2, 3]]), 0, 5)["visible"]
    assert mask.shape == (2, 1, 3, 5)
    assert (mask[1, 0] == 0).tolist() == np.tri(3, 5, dtype=bool).tolist()
    assert np.isfinite(mask.astype(np.float16)).all()


@emulator
@pytest.mark.parametrize("batch", [1, 2])
def test_a_text_is_continued_as_torch_does(exports, batch):
    report = run(exports, torch_recipes.LLAMA, batch=batch)
    assert report["evidence"] == "emulated"
    assert report["outputs"][1]["shape"] == [batch, NEW]
    assert report["numerics"]["pass"], report["numerics"]
    assert report["numerics"]["control"]["pass"]
    assert report["generation"]["agreed_tokens"] == NEW
    assert report["placement"]["left_over"] == []
    assert set(report["placement"]["nodes"]) == {"sm8650"}


@emulator
def test_a_timed_generation_finds_what_was_compiled(exports):
    run(exports, torch_recipes.LLAMA)
    report = run(exports, torch_recipes.LLAMA, "time")
    assert report["export"]["found"]
    assert report["context"]["context_found"]
    assert len(report["generation"]["streams_ms"]) == len(report["samples_ms"])


@emulator
def test_an_image_goes_with_the_prompt(exports, catalogue):
    report = run(exports, catalogue["llava"])
    assert report["numerics"]["pass"], report["numerics"]
    assert report["numerics"]["control"]["pass"]
    assert report["generation"]["agreed_tokens"] == NEW
    assert report["placement"]["left_over"] == []


@emulator
def test_what_does_not_go_is_said(exports, catalogue):
    for name in ("t5", "whisper"):
        with pytest.raises(BeyondAssay, match="generation on QNN is for models without an encoder"):
            run(exports, catalogue[name])
    with pytest.raises(BeyondAssay, match="keeps 33 places for 16 words"):  # its image would be passed over
        run(exports, catalogue["git"])
    with pytest.raises(UnsupportedDType, match="in fp16"):
        run(exports, torch_recipes.LLAMA, dtype="int8")

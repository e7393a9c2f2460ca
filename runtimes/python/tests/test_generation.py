"""Generation of a fixed length, on torch and on OpenVINO."""

import numpy as np
import pytest
import torch
import torch_recipes
from torch_emit import Emit, job

from assay_runner.engines.graphs import driver
from assay_runner.engines.torch import engine
from assay_runner.errors import BeyondAssay, Unsuited, UnsupportedDType
from assay_runner.exporting import encoder_decoder
from assay_runner.subjects import generation, streams
from assay_runner.subjects.programs import building

NEW = generation.NEW_TOKENS


def on_torch(recipe, kind="check", **cell):
    emit = Emit()
    engine.run(job(recipe, kind, mode="generate", **cell), emit)
    return emit.reports[0]


def on_openvino(exports, recipe, kind="check", **cell):
    where = {"platform": "openvino", "device": "CPU", "engine": "openvino", "mode": "generate"}
    emit = Emit()
    driver.run(job(recipe, kind, **where, **cell) | {"options": {"exports": exports}}, emit)
    return emit.reports[0]


@pytest.mark.parametrize(
    ("ids", "steps", "agreed"),
    [([1, 2, 3], 3, 3), ([1, 9, 3], 2, 1), ([9, 2, 3], 1, 0)],
)
def test_logits_are_compared_until_the_choices_part(ids, steps, agreed):
    expected = {"logits": torch.rand(1, 3, 5), "generated": torch.tensor([[1, 2, 3]])}
    found = {"logits": torch.rand(1, 3, 5), "generated": torch.tensor([ids])}
    assert generation.agreed(found, expected) == agreed
    for side in generation.comparable(found, expected):
        assert side["logits"].shape[1] == side["generated"].shape[1] == steps


@pytest.mark.parametrize(
    ("ids", "wanted", "proven"),
    [([1, 2, 3], [1, 2, 3], True), ([1, 9, 3], [1, 2, 3], True), ([9, 2, 3], [1, 2, 3], False), ([9], [1], True)],
)
def test_a_step_with_a_cache_must_have_been_compared(ids, wanted, proven):
    """Where there is one: a single token has none."""
    found, expected = ({"generated": torch.tensor([row])} for row in (ids, wanted))
    assert (generation.unproven(found, expected) == "") is proven
    assert generation.unproven({}, {}) == generation.unproven(found, None) == ""


def test_torch_is_not_judged_by_the_prompt_alone(monkeypatch):
    from assay_runner.engines.torch import checks

    ran = checks._run

    def other(*args):
        seen, ms = ran(*args)
        return {**seen, "generated": seen["generated"] + 1}, ms

    monkeypatch.setattr(checks, "_run", other)
    report = on_torch(torch_recipes.LLAMA)
    assert report["numerics"] is None
    assert "no step with a cache" in report["numerics_note"]


def test_what_is_no_generation_is_compared_whole():
    plain = {"logits": torch.rand(1, 3, 5)}
    assert generation.agreed(plain, plain) is None
    assert generation.comparable(plain, plain) == (plain, plain)
    assert generation.comparable(plain, None) == (plain, None)


def test_weights_are_those_of_plain_inference():
    plain = building.build(torch_recipes.LLAMA, torch.float32, 5).model.state_dict()
    continued = building.build(generation.recipe(torch_recipes.LLAMA), torch.float32, 5).model.model.state_dict()
    assert plain.keys() == continued.keys()
    assert all(torch.equal(t, continued[name]) for name, t in plain.items())


def test_clock_tells_the_first_token_from_the_others():
    clock = streams.Clock()
    for stamps in ([0, 10, 12, 14], [5, 25, 27, 31], [0, 5]):  # the last one was cut
        clock.told(stamps)
    told = clock.report(prompt=7, new=3, batch=2)
    assert told["streams_ms"] == [[10, 12, 14], [20, 22, 26]]  # since each began
    assert (told["prompt_tokens"], told["new_tokens"], told["batch"], told["ids"]) == (7, 3, 2, None)
    clock.forget()
    assert clock.report(7, 3, 1)["streams_ms"] == []


def test_greedy_steps_know_what_stands_before_them():
    """A model that counts: after n tokens it chooses n."""
    asked = []

    def step(ids, past):
        asked.append((ids.tolist(), past))
        return np.eye(32, dtype=np.float32)[[past + ids.shape[1]] * len(ids)]

    clock = streams.Clock()
    clock.begin()
    made = generation.greedy(step, np.zeros((2, 5), np.int64), 3, clock)
    assert made["generated"].tolist() == [[5, 6, 7]] * 2
    assert made["logits"].shape == (2, 3, 32)
    assert asked[1:] == [([[5]] * 2, 5), ([[6]] * 2, 6)]
    told = clock.report(5, 3, 2)
    assert told["ids"] == [[5, 6, 7]] * 2
    assert told["prefills_ms"][0] <= told["streams_ms"][0][0] <= told["streams_ms"][0][2]
    clock.end(3)


def test_torch_generates():
    report = on_torch(torch_recipes.LLAMA)
    assert report["outputs"][1]["shape"] == [1, NEW]
    assert report["numerics"]["pass"], report["numerics"]
    assert report["numerics"]["control"]["pass"]
    told = report["generation"]
    assert (told["prompt_tokens"], told["new_tokens"], told["agreed_tokens"]) == (16, NEW, NEW)
    assert 0 < told["prefills_ms"][0] <= told["streams_ms"][0][0]
    assert len(told["streams_ms"]) == 1  # the reference's generation is none of the cell's
    assert len(told["ids"][0]) == NEW
    assert told["one_pass"]["pass"]
    assert told["one_pass"]["tokens"] == NEW


def test_the_end_of_a_text_is_off():
    """Every id ends a text here, and still all tokens come."""
    recipe = torch_recipes.LLAMA | {"config": torch_recipes.LLAMA["config"] | {"eos_token_id": list(range(256))}}
    assert on_torch(recipe)["outputs"][1]["shape"] == [1, NEW]


def test_timed_generations():
    report = on_torch(torch_recipes.LLAMA, "time")
    told = report["generation"]
    assert len(told["streams_ms"]) == len(report["samples_ms"])  # neither the first nor those of the warm-up
    for stream, whole in zip(told["streams_ms"], report["samples_ms"], strict=True):
        assert stream == sorted(stream)
        assert len(stream) == NEW
        assert stream[-1] <= whole
    assert told["strayed"] == 0


def test_a_model_that_generates_nothing():
    with pytest.raises(Unsuited, match="generates no text"):
        on_torch(torch_recipes.BERT)


def test_openvino_generates_what_torch_does(exports):
    report = on_openvino(exports, torch_recipes.LLAMA)
    assert report["numerics"]["pass"], report["numerics"]
    assert report["numerics"]["control"]["pass"]
    assert report["generation"]["agreed_tokens"] == NEW
    assert report["export"]["steps"][0]["count"] == 4  # keys and values of two layers
    timed = on_openvino(exports, torch_recipes.LLAMA, "time")
    assert timed["export"]["found"]
    assert len(timed["generation"]["streams_ms"]) == len(timed["samples_ms"])
    assert timed["generation"]["ids"] == report["generation"]["ids"]


def test_openvino_says_what_its_graph_would_pass_over(exports, catalogue):
    """The graph of their decoding reads no image: the tokens would be those of another question."""
    for name in ("git", "llava"):
        with pytest.raises(BeyondAssay, match=r"generation on OpenVINO is for .*: this one reads pixel_values too"):
            on_openvino(exports, catalogue[name])


def test_openvino_encodes_once_and_decodes_with_a_cache(exports):
    """The same tokens as torch's, and a time in which the encoder is a part of the first token."""
    report = on_openvino(exports, torch_recipes.WHISPER)
    assert report["numerics"]["pass"], report["numerics"]
    assert report["generation"]["agreed_tokens"] == NEW
    assert report["generation"]["prompt_tokens"] == 8
    assert report["export"]["steps"][0]["count"] == 2  # keys and values of self-attention: one layer
    operators = {row["operator"] for row in report["placement"]["counters"]}
    assert {"Convolution", "ReadValue"} <= operators, operators  # of the encoder and of the decoder
    halved = on_openvino(exports, torch_recipes.WHISPER, dtype="w8")
    assert halved["numerics"]["snr_db"] > 20


def test_an_encoder_decoder_is_taken_apart():
    emit = Emit()
    session = engine.Session(job(torch_recipes.WHISPER, mode="generate"), emit)
    tensors = session.inputs({"batch": 1})
    whole = session.built().model
    parts = encoder_decoder.parts(whole.model, tensors)
    prompt = parts.encoded["prompt"]
    assert prompt[:, -8:].equal(tensors["decoder_input_ids"])
    with torch.no_grad():
        step = parts.decoding(**parts.step)
        expected = whole(**tensors)
    chosen = expected["generated"][:, :1]
    assert parts.step["decoder_input_ids"][:, :1].equal(chosen)
    torch.testing.assert_close(step["logits"][:, 0], expected["logits"][:, 1])


def test_openvino_says_what_does_not_go(exports):
    with pytest.raises(UnsupportedDType, match="w8"):
        on_openvino(exports, torch_recipes.LLAMA, dtype="int8")


def test_what_is_generated_has_no_mask_of_its_own():
    rows = [{"name": "input_ids"}, {"name": "decoder_attention_mask"}]
    made = generation.recipe({"type": "t5", "inputs": rows, "call": {"x": 1}, "rounding": {}, "damages": []})
    assert made["inputs"] == rows[:1]
    assert not {"rounding", "damages"} & set(made)

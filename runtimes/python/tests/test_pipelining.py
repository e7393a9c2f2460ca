"""Mode pipeline on torch: what processors give, the parts of a request, and faults that are planted."""

import numpy as np
import pytest
import torch
import torch_recipes
from torch_emit import Emit, job

from assay_runner.engines.torch import engine, pipelining
from assay_runner.errors import Unsuited
from assay_runner.subjects.natural import readers, written_out


def ran(recipe, kind="check", points=({"batch": 2},), **cell):
    emit = Emit()
    engine.run(job(recipe, kind, points, mode="pipeline", size="tiny", **cell), emit)
    return emit.reports[0]


@pytest.mark.parametrize("name", ["bert", "llama", "vit", "detr", "whisper"])
def test_pipelines_are_right(name):
    report = ran(torch_recipes.ALL[name])
    numbers = report["numerics"]
    assert numbers["pass"], numbers
    assert [row["pass"] for row in numbers["around"]] == [True] * len(numbers["around"]), numbers["around"]
    assert numbers["around"][-1]["what"].startswith("the answer")
    assert numbers["control"]["pass"]
    assert report["pipeline"]["reads"]


def test_timed_parts():
    report = ran(torch_recipes.VIT, "time")
    parts = report["pipeline"]["parts_ms"]
    assert list(parts) == ["preprocess", "model", "postprocess"]
    assert all(ms > 0 for row in parts.values() for ms in row)
    assert len(report["samples_ms"]) >= 5
    assert "answer" in report["inputs_inside"]


def test_ids_are_those_that_were_drawn():
    reader = readers.make(torch_recipes.BERT, {"batch": 3, "seq": 9}, 0, torch.float32)
    read = reader.read()
    assert read["input_ids"].shape == (3, 9)
    assert all(text.startswith("w") for text in reader.parts[0].material)
    assert read["attention_mask"].tolist() == [[1] * 9] * 3


def test_a_tokenizer_that_loses_a_word_is_noticed(monkeypatch):
    text = readers._text

    def losing(about):
        part = text(about)
        part.material[0] = part.material[0].replace("w", "v", 1)  # a word that it does not know
        return part

    monkeypatch.setitem(readers._PARTS, "text", losing)
    rows = ran(torch_recipes.BERT)["numerics"]["around"]
    assert rows[0]["pass"] is False and "input_ids" in rows[0]["what"]


@pytest.mark.parametrize("change", [{"image_mean": [0.4, 0.5, 0.5]}, {"rescale_factor": 1 / 254}, {"resample": 3}])
def test_a_processor_with_another_setting_is_noticed(monkeypatch, change):
    """The rule is that of the settings that were asked for, and the processor works by others."""
    image = readers._image

    def changed(about):
        part = image(about)
        other = type(part.processor)(**{**part.processor.to_dict(), **change})
        call = part.call
        part.call = lambda _, material: call(other, material)
        return part

    monkeypatch.setitem(readers._PARTS, "image", changed)
    rows = ran(torch_recipes.VIT)["numerics"]["around"]
    assert rows[0]["pass"] is False, rows


def test_an_answer_of_other_numbers_is_noticed(monkeypatch):
    """Labels that are shifted by one between what the model gives and what is told."""
    of = pipelining.Pipeline.answers
    calls = []

    def shifted(self, given, found):
        calls.append(1)
        return of(self, given, {n: t.roll(1, -1) for n, t in found.items()} if len(calls) == 1 else found)

    monkeypatch.setattr(pipelining.Pipeline, "answers", shifted)
    rows = ran(torch_recipes.VIT)["numerics"]["around"]
    assert rows[-1]["pass"] is False


def test_answers_apart():
    one, two = {"label": "a", "id": 0, "score": 0.5}, {"label": "b", "id": 1, "score": 0.5}
    assert pipelining.apart([one, two], [two, one]) == 0  # as good as each other
    assert pipelining.apart([one], [two | {"score": 0.25}]) == 0.25
    assert pipelining.apart([one, two | {"score": 0.1}], [two, one | {"score": 0.1}]) == 0.4
    assert pipelining.apart({"id": 1, "score": 0.5}, {"id": 2, "score": 0.5}) is None
    assert pipelining.apart({"id": 1, "score": 0.5}, {"id": 2, "score": 0.5}, ties=True) == 0
    assert pipelining.apart({"text": "a"}, {"text": "b"}) is None
    assert pipelining.apart(np.ones(3), np.ones(4)) is None
    assert pipelining.apart([np.array([1.0, 2.0])], [np.array([1.0, 2.5])]) == pytest.approx(0.2)


def test_what_has_no_rule_is_not_compared():
    class Other:
        do_image_splitting = True

    assert written_out.pixels(Other(), []) is None
    assert written_out.sounds(Other(), []) is None


def test_models_without_natural_inputs_are_refused():
    recipe = torch_recipes.BERT | {"inputs": [{**torch_recipes.TEXT[0], "name": "codes"}]}
    with pytest.raises(Unsuited, match="text, a picture or a sound"):
        ran(recipe)

"""Front ends: raw material by stream, features by transformers, recipes turned."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from assay_runner.errors import Unsuited
from assay_runner.subjects import front_ends, inputs

SHAPES = {
    "whisper": ["batch", 80, 20],
    "wav2vec2": ["batch", 800],
    "clap": ["batch", 1, 1001, 64],
    "xclip": ["batch", 2, 3, 32, 32],
}
RAW = {
    "whisper": (2, 3200),
    "wav2vec2": (2, 800),
    "clap": (2, 480000),
    "xclip": (2, 2, 64, 84, 3),
}


def _recipe(kind: str) -> dict:
    name = front_ends.FRONT_ENDS[kind].input
    ids = {"name": "input_ids", "kind": "ids", "dtype": "int64", "shape": ["batch", 4], "low": 0, "high": 9}
    drawn = {"name": name, "kind": "float", "dtype": "float32", "shape": SHAPES[kind]}
    return {"type": kind, "inputs": [ids, drawn]}


def test_every_front_end_is_tested() -> None:
    assert SHAPES.keys() == RAW.keys() == front_ends.FRONT_ENDS.keys()


@pytest.mark.parametrize("kind", SHAPES)
def test_features_of_raw_material(kind: str) -> None:
    turned, point = front_ends.recipe(_recipe(kind)), {"batch": 2}
    name = front_ends.FRONT_ENDS[kind].input
    made = inputs.make(turned, point, 0, torch.float32)
    raw = inputs.raw(turned, point, 0)
    assert list(raw) == [name] and raw[name].shape == RAW[kind]
    assert made[name].shape == inputs.make(_recipe(kind), point, 0, torch.float32)[name].shape
    assert torch.isfinite(made[name]).all() and made[name].std() > 0.01
    assert not np.array_equal(raw[name], inputs.raw(turned, point, 1)[name])  # another seed, another sound
    assert torch.equal(made["input_ids"], inputs.make(_recipe(kind), point, 0, torch.float32)["input_ids"])


@pytest.mark.parametrize("kind", SHAPES)
def test_settings_for_the_page(kind: str) -> None:
    shape = tuple(inputs.make(_recipe(kind), {"batch": 1}, 0, torch.float32)[front_ends.FRONT_ENDS[kind].input].shape)
    graph = [{"name": front_ends.FRONT_ENDS[kind].input, "shape": list(shape)}]
    told = front_ends.of_graph(front_ends.recipe(_recipe(kind)), graph)
    assert told is not None and told["input"] == graph[0]["name"] and told["kind"]
    assert front_ends.of_graph(_recipe(kind), graph) is None  # without the setting there is none


def test_a_model_without_one_is_refused() -> None:
    with pytest.raises(Unsuited, match="bert has no front end here: those that have one are whisper"):
        front_ends.recipe({"type": "bert", "inputs": []})


def test_a_plain_recipe_has_no_raw_material() -> None:
    assert inputs.raw(_recipe("whisper"), {"batch": 1}, 0) == {}

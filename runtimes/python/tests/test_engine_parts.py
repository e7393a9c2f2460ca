"""Parts of models as graphs of their own."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
from typing import Any

import pytest

from assay_runner.engines.graphs import parts
from assay_runner.errors import BadRecipe
from assay_runner.subjects.pipelines import pipeline_recipes

DATA = Path(__file__).parents[3] / "internal" / "catalog" / "data"


class Emit:
    """Keeps the answer."""

    index = None
    said: dict[str, Any]

    def in_phase(self, name):
        return contextlib.nullcontext()

    def data(self, data):
        self.said = data


def taken_apart(model_type: str, folder: Path) -> list[dict[str, Any]]:
    rows = [
        *json.loads((DATA / "recipes.json").read_text())["recipes"],
        *pipeline_recipes.read(DATA / "pipeline_recipes.json"),
    ]
    recipe = next(r for r in rows if r["type"] == model_type and r["size"] == "tiny")
    emit = Emit()
    parts.answer({"recipe": recipe, "cell": {}, "threads": 1, "options": {"exports": str(folder)}}, emit)
    return emit.said["parts"]


@pytest.mark.parametrize(
    ("model_type", "names"),
    [
        pytest.param("t5", ["encoder", "prefill", "decode"], marks=pytest.mark.full),  # an example exports it
        ("clip", ["image_encoder", "text_tower", "image_tower"]),
        ("pixart-alpha", ["text_encoder", "transformer", "vae_decoder"]),
        pytest.param("stable-diffusion", ["text_encoder", "unet", "vae_decoder"], marks=pytest.mark.full),
    ],
)
def test_parts_give_what_they_give_inside(tmp_path, model_type, names):
    rows = taken_apart(model_type, tmp_path)
    assert [row["name"] for row in rows] == names
    assert all(row["check"]["pass"] for row in rows), rows


def test_the_step_takes_and_gives_a_cache(tmp_path):
    step = taken_apart("qwen2", tmp_path)[1]
    taken = {row["name"]: row["shape"] for row in step["inputs"]}
    given = {row["name"]: row["shape"] for row in step["outputs"]}
    assert taken["input_ids"] == [1, 1]
    key = "past_key_values.layers.0.keys"
    assert given[f"output.{key}"][2] == taken[f"input.{key}"][2] + 1


def test_a_model_without_parts_is_said(tmp_path):
    with pytest.raises(BadRecipe, match="no parts that run on their own"):
        taken_apart("bert", tmp_path)

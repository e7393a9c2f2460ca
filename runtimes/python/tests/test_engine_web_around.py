"""What a pipeline makes around its model: what is compared with what, and that each comparison can fail."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from assay_runner.engines.web.around import Ran, rows
from assay_runner.subjects.diffusion import tokenizers

LOGITS = np.asarray([[0.5, 2.0, -1.0, 0.0]], np.float32)
SHARES = np.sort(np.exp(LOGITS[0]) / np.exp(LOGITS[0]).sum())[::-1]
IDS = np.asarray([[7, 8, 9]], np.int64)


def scores(shares) -> list[dict]:
    return [{"label": "any", "score": float(share)} for share in shares]


@pytest.mark.parametrize(
    ("task", "found", "result", "passes"),
    [
        ("feature-extraction", {"logits": LOGITS}, LOGITS, True),
        ("feature-extraction", {"logits": LOGITS, "last_hidden_state": 2 * LOGITS}, LOGITS, False),
        ("image-feature-extraction", {"last_hidden_state": LOGITS}, LOGITS[:, :2], False),
        ("image-classification", {"logits": LOGITS}, scores(SHARES), True),
        ("image-classification", {"logits": LOGITS}, scores(SHARES[:2]), True),  # the most likely ones
        ("audio-classification", {"logits": LOGITS}, scores(SHARES[::-1]), False),
        ("depth-estimation", {"logits": LOGITS}, LOGITS, None),
    ],
)
def test_what_comes_after_the_model(task, found, result, passes):
    (row,) = rows(Ran(Path(), {"task": task}, {}, {}, found, result))
    assert row["pass"] is passes


@pytest.mark.parametrize(("made", "passes"), [(IDS, True), (IDS + 1, False), (IDS[:, :2], False)])
def test_a_text_stands_for_the_recipes_ids(made, passes):
    ran = Ran(Path(), {"task": "none", "texts": ["a"]}, {"input_ids": IDS}, {"input_ids": made}, {}, None)
    assert [row["pass"] for row in rows(ran)] == [passes, None]


def test_an_image_is_made_as_transformers_makes_it(tmp_path):
    settings = {"do_resize": True, "do_rescale": True, "rescale_factor": 1 / 255, "do_normalize": True, "resample": 2}
    around = {"image_mean": [0.5] * 3, "image_std": [0.5] * 3, "size": {"height": 4, "width": 4}}
    (tmp_path / "preprocessor_config.json").write_text(
        json.dumps({**settings, **around, "image_processor_type": "ViTImageProcessor"})
    )
    bytes_ = (np.arange(48) * 37 % 256).reshape(4, 4, 3).transpose(2, 0, 1)[None]
    good = (bytes_ / 255 - 0.5) / 0.5
    for pixels, passes in ((good, True), (bytes_ / 255, False)):
        made = {"pixel_values": pixels.astype(np.float32)}
        ran = Ran(tmp_path, {"task": "none", "image": [4, 4]}, {}, made, {}, None)
        assert rows(ran)[0]["pass"] is passes


@pytest.mark.parametrize("wrong", [False, True])
def test_words_are_those_of_the_ids(tmp_path, wrong):
    made = tokenizers.make(tokenizers.config_for({"vocab_size": 32}) | {"longest": 1 << 20, "around": []})
    made.save_pretrained(tmp_path)
    new = np.asarray([[10, 11]], np.int64)
    whole = made.decode([*IDS[0], *new[0]], skip_special_tokens=True)
    text = whole[len(made.decode(IDS[0], skip_special_tokens=True)) :] + ("!" if wrong else "")
    ran = Ran(
        tmp_path, {"task": "text-generation"}, {"input_ids": IDS}, {}, {"generated": new}, [{"generated_text": text}]
    )
    assert text.strip()
    assert rows(ran)[0]["pass"] is not wrong

"""Positions of texts with images in tensors are those that models compute in loops."""

import random
from functools import partial
from types import SimpleNamespace

import pytest
import torch

from assay_runner.exporting import counting
from assay_runner.exporting.layout_answers import _counting, _positions

transformers = pytest.importorskip("transformers")
LENGTH = 14
MARKERS = {name: 200 + number for number, name in enumerate(counting._MARKERS)}


def model_of(kind, **changed):
    """A model without weights."""
    known = transformers.models.auto.configuration_auto.CONFIG_MAPPING
    if kind not in known:
        pytest.skip(f"this transformers has no {kind}")
    config = known[kind]()
    for name, value in changed.items():
        setattr(config, name, value)
    with torch.device("meta"):
        return transformers.AutoModel.from_config(config)


def texts(tokens, seed, ids=()):
    """A text with an image of so many tokens, and one that is padded at either end."""
    draw = random.Random(seed)
    start = draw.randint(1, LENGTH - tokens - 2)
    words = [draw.choice(ids) if ids and draw.random() < 0.4 else draw.randint(5, 100) for _ in range(LENGTH)]
    marks = torch.zeros(1, LENGTH, dtype=torch.long)
    marks[0, start : start + tokens] = 1
    masks = torch.ones(3, 1, LENGTH, dtype=torch.long)
    masks[1, 0, start + tokens + 1 :] = 0
    masks[2, 0, : draw.randint(0, start - 1)] = 0
    for mask in masks:
        yield {"input_ids": torch.tensor([words]), "mm_token_type_ids": marks, "attention_mask": mask}


def agree(way, own, given):
    return all(torch.equal(a, b) for a, b in zip(_positions(way, given), own(**given), strict=True))


@pytest.mark.parametrize("markers", [{}, MARKERS])
@pytest.mark.parametrize("form", [(4, 4), (8, 4), (4, 12), (8, 8)])
def test_canvases(markers, form):
    own = model_of("minicpmv4_7", **markers).get_rope_index
    way = counting.Canvas(4, tuple(markers.values()))
    for seed in range(20):
        for given in texts(form[0] * form[1] // 16, seed, list(markers.values())):
            assert agree(way, own, given | {"target_sizes": torch.tensor([form])})


def inlaying(axes, merge):
    """HunYuan's own way to count, without its model."""
    module = pytest.importorskip("transformers.models.hunyuan_vl.modeling_hunyuan_vl")
    text = SimpleNamespace(rope_parameters={"mrope_section": [4] * axes})
    config = SimpleNamespace(text_config=text, vision_config=SimpleNamespace(spatial_merge_size=merge))
    of_one = partial(module.HunYuanVLModel.get_vision_position_ids, None)
    model = SimpleNamespace(config=config, get_vision_position_ids=of_one)
    return partial(module.HunYuanVLModel.get_rope_index, model)


@pytest.mark.parametrize("form", [(1, 1), (2, 1), (1, 3), (2, 2)])
@pytest.mark.parametrize("around", [0, 2])
@pytest.mark.parametrize("axes", [3, 4])
def test_inlaid_images(form, around, axes):
    grid = torch.tensor([[1, form[0] * 2, form[1] * 2]])
    for seed in range(20):
        for given in texts(form[0] * (form[1] + 1) + around, seed):
            assert agree(counting.Inlaid(axes, 2), inlaying(axes, 2), given | {"image_grid_thw": grid})


def test_a_way_to_count_is_found_by_the_answers():
    model = model_of("minicpmv4_7")
    heard = []
    for given in texts(1, 3):
        given |= {"target_sizes": torch.tensor([[4, 4]])}
        heard.append((given, model.get_rope_index(**given)))
    assert _counting(heard, [model.config]) == counting.Canvas(4, ())
    positions, further = heard[0][1]
    assert _counting([(heard[0][0], (positions + 1, further))], [model.config]) is None

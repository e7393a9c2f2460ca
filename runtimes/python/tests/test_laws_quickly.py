"""What makes laws quick changes nothing that they look at."""

import os
import re

import law_toys
import pytest
import torch

from assay_runner.checking import reference, tolerances
from assay_runner.checking.laws import Case, loading
from assay_runner.checking.laws.lighter import lighter, numbers
from assay_runner.subjects.programs import building

LIMIT = tolerances.of_cell(law_toys.RECIPE, {}, "fp32")


class Seeing(torch.nn.Module):
    """Takes images of some sizes."""

    def __init__(self, least):
        super().__init__()
        self.least, self.seen = least, []

    def forward(self, pixel_values):
        self.seen.append(pixel_values.shape[-1])
        if pixel_values.shape[-1] < self.least:
            raise ValueError("too small")
        return pixel_values.mean((-1, -2))


def case_of(image, least, sizes=("image",)):
    shape = ["batch", 16, 3, *(["image", "image"] if "image" in sizes else [image, image])]
    spec = {"name": "pixel_values", "kind": "float", "dtype": "float32", "shape": shape}
    recipe = {"type": "seeing", "sizes": dict.fromkeys(sizes, image), "inputs": [spec]}
    built = building.Built(Seeing(least), 0, None, {})
    return Case(built, recipe, {}, 0, lambda model, given: {"output": model(**given)}, LIMIT)


@pytest.mark.parametrize(
    ("image", "least", "sizes", "taken"),
    [
        (256, 1, ("image",), 128),  # 16 × 3 × 128 × 128 numbers are less than a million, and twice as wide are more
        (128, 1, ("image",), 128),  # small enough
        (256, 200, ("image",), 256),  # it takes no smaller ones
        (256, 1, ("frames",), 256),  # no size of an image is named
    ],
)
def test_large_images_are_halved_where_a_model_takes_them(image, least, sizes, taken):
    case = case_of(image, least, sizes)
    found = lighter(case)
    assert found.row(0)["pixel_values"].shape[-1] == taken
    assert (found is case) == (taken == image)
    assert case.model.seen == []
    assert numbers(found) == 16 * 3 * taken * taken


def test_a_quick_load_reads_the_same_and_leaves_the_library_as_it_was(tmp_path):
    from transformers import core_model_loading
    from transformers.utils import logging

    before = dict(os.environ), logging.is_progress_bar_enabled()
    model = law_toys.built().model
    with loading.quick():
        assert core_model_loading.re is not re
        model.save_pretrained(tmp_path)
        loaded = law_toys.Toy.from_pretrained(tmp_path)
    assert core_model_loading.re is re
    assert (dict(os.environ), logging.is_progress_bar_enabled()) == before
    assert all(torch.equal(t, loaded.state_dict()[name]) for name, t in model.state_dict().items())


def test_a_late_pattern_is_what_it_would_be_at_once():
    late = loading._LATE.compile(r"(?P<name>\w+)\.(\d+)", re.IGNORECASE)
    assert late.sub(r"\2", "layers.12") == "12"
    assert late.search("Layer.3").lastgroup is None and late.search("Layer.3")["name"] == "Layer"
    assert late.pattern == r"(?P<name>\w+)\.(\d+)" and loading._LATE.escape("a.b") == r"a\.b"


def test_a_model_is_given_back_what_it_had_as_often_as_is_asked():
    model = law_toys.built().model
    inner = model.inner = torch.nn.Linear(2, 2)
    inner.config, inner.table = model.config, {"a": 1}
    memory = reference.Memory(model)
    for _ in range(2):
        inner.table["b"], inner.more, model.config.attention_dropout = 2, 3, 0.9
        inner.table.pop("a")
        memory.restore()
        assert inner.table == {"a": 1} and not hasattr(inner, "more") and model.config.attention_dropout == 0.1

"""Graphs are judged on inputs that they have not seen."""

import pytest
import torch

from assay_runner.checking.further import Further
from assay_runner.engines.formats import ONNX
from assay_runner.errors import WrongExport
from assay_runner.exporting import comparison, optimising
from assay_runner.exporting.call import Subject
from assay_runner.exporting.graph import Options
from assay_runner.subjects.samples import PADDED, Sample

WORDS = torch.tensor([[3, 1, 2, 5]])
MASK = torch.ones(1, 4, dtype=torch.int64)
HIDDEN = torch.tensor([[1, 1, 0, 0]])


class Plain(torch.nn.Module):
    """A model of one function."""

    config = None

    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, **kwargs):
        return {"y": self.function(**kwargs)}


def exported(function, folder, first, **others):
    """A function as a graph, judged on other inputs by their names."""
    further = [
        Further(Sample(name.replace("_", " "), {**first, **more}), {"y": function(**{**first, **more})})
        for name, more in others.items()
    ]
    return ONNX.write(Subject(Plain(function), first, {}, {"y": function(**first)}, Options(), further), folder)


def steps(graph):
    return {step["name"]: step["why"] for step in graph.steps}


def by_its_numbers(input_ids):
    """What is baked in where a value decides: the first id says how much is added."""
    return input_ids.float() + [0.0, 0.5, 1.0, 7.0, 9.0, 11.0][int(input_ids[0, 0])]


def test_a_graph_that_holds_numbers_of_its_sample_is_wrong(tmp_path):
    with pytest.raises(
        WrongExport, match=r"right only for the sample it was exported with.*on inputs from another seed"
    ):
        exported(by_its_numbers, tmp_path, {"input_ids": WORDS}, from_another_seed={"input_ids": WORDS.flip(1)})


def as_long_as_it_says(input_ids):
    """Gives as many numbers as the first id says, as models do that say how long a sound is."""
    return torch.arange(int(input_ids[0, 0])) * input_ids.float().mean()


def test_a_graph_of_one_length_is_wrong_where_the_model_gives_another(tmp_path):
    longer = {"input_ids": WORDS + 1}
    with pytest.raises(WrongExport, match=r"right only for the sample.*off without bound on inputs from another seed"):
        exported(as_long_as_it_says, tmp_path, {"input_ids": WORDS}, from_another_seed=longer)


def test_where_the_input_that_decides_the_length_is_a_constant_nothing_is_wrong(tmp_path):
    def cut(input_ids, image_sizes):
        return torch.cat([input_ids.float() * i for i in range(image_sizes.tolist()[0])])

    first = {"input_ids": WORDS, "image_sizes": torch.tensor([3])}
    graph = exported(
        cut, tmp_path, first, from_another_seed={"input_ids": WORDS + 1}, other_form={"image_sizes": torch.tensor([2])}
    )
    assert [row.get("fixed") for row in graph.check["samples"]] == [None, ["image_sizes"]]
    assert graph.check["pass"]


def test_without_another_sample_nobody_would_know(tmp_path):
    graph = exported(by_its_numbers, tmp_path, {"input_ids": WORDS})
    assert graph.check["pass"]
    assert "input_ids" in steps(graph)["fixed choices"]


def asks_for_padding(input_ids, attention_mask):
    """Saves work where nothing is hidden."""
    x = input_ids.float()
    return x * 2 if attention_mask.all() else x * 2 * attention_mask


def test_the_way_for_padded_inputs_serves_the_others_too(tmp_path):
    first = {"input_ids": WORDS, "attention_mask": MASK}
    graph = exported(asks_for_padding, tmp_path, first, padded_at_the_end={"attention_mask": HIDDEN})
    assert [row["name"] for row in graph.inputs] == ["input_ids", "attention_mask"]
    (row,) = graph.check["samples"]
    assert (row["name"], row["max_rel"], row["pass"]) == (PADDED, 0.0, True)
    assert not {"constant inputs", "fixed choices"} & set(steps(graph))


def in_a_loop(input_ids, attention_mask):
    """Needs the mask's numbers one by one."""
    x = input_ids.float()
    return torch.cat([x[:, i : i + 1] * (2 + i) for i, seen in enumerate(attention_mask[0].tolist()) if seen], dim=1)


def test_a_mask_that_has_to_be_a_constant_is_named(tmp_path):
    first = {"input_ids": WORDS, "attention_mask": MASK}
    other = torch.tensor([[1, 1, 1, 2]])
    graph = exported(lambda **given: in_a_loop(**given) * given["attention_mask"].tolist()[0][3], tmp_path, first,
                     marked_twice={"attention_mask": other})  # fmt: skip
    assert "attention_mask" in steps(graph)["constant inputs"]
    assert graph.check["samples"] == [{"name": "marked twice", "fixed": ["attention_mask"]}]


def test_an_input_that_decided_everything_is_not_one_that_is_not_used(tmp_path):
    """With its choices fixed no marks are left in the graph, and it is wrong for others."""

    def by_marks(input_ids, mm_token_type_ids):
        places = mm_token_type_ids[0].bool().tolist()
        return torch.stack([input_ids[:, i] * (10.0 if at else 1.0) for i, at in enumerate(places)], dim=1)

    first = {"input_ids": WORDS, "mm_token_type_ids": torch.tensor([[0, 1, 1, 0]])}
    moved = {"mm_token_type_ids": torch.tensor([[0, 0, 1, 1]])}
    graph = exported(by_marks, tmp_path, first, padded_at_the_end={"input_ids": WORDS + 1}, marks_moved=moved)
    assert "mm_token_type_ids" in steps(graph)["constant inputs"]
    assert "fixed choices" not in steps(graph)
    assert any("on inputs marks moved" in row["error"] for row in graph.tried)


def test_an_input_that_can_have_one_value_only_takes_nothing_away(tmp_path):
    def cut(pixel_values, image_sizes):
        height, width = image_sizes[0].tolist()
        rows = [pixel_values[:, i : i + 1, :width] * (i + 1) for i in range(height)]
        return torch.cat(rows, dim=1).reshape(1, 4, 4)

    first = {"pixel_values": torch.rand(1, 4, 4), "image_sizes": torch.tensor([[4, 4]])}
    graph = exported(cut, tmp_path, first, from_another_seed={"pixel_values": torch.rand(1, 4, 4)})
    assert "image_sizes" in steps(graph)["settled inputs"]
    assert "constant inputs" not in steps(graph)


def packed(input_values, padding_mask):
    """What is not hidden, one after the other, in pairs."""
    counts = padding_mask.reshape(-1, 2).any(1).tolist()
    return torch.cat([pair * 2 for pair, seen in zip(input_values.split(2, dim=1), counts, strict=True) if seen], dim=1)


def counted(input_values, padding_mask):
    """A mask that is read and means nothing."""
    return input_values * len(padding_mask.tolist()[0])


@pytest.mark.parametrize(("model", "missed"), [(packed, True), (counted, False)])
def test_a_mask_that_changes_the_length_is_missed_and_one_that_changes_nothing_is_not(tmp_path, model, missed):
    first = {"input_values": torch.rand(1, 8), "padding_mask": torch.ones(1, 8, dtype=torch.int64)}
    graph = exported(model, tmp_path, first, from_another_seed={"input_values": torch.rand(1, 8)})
    assert graph.check["pass"]
    assert ("padding_mask" in steps(graph).get("constant inputs", "")) is missed
    assert missed or "fixed choices" not in steps(graph)


def test_an_epsilon_of_1e_8_is_not_nothing(tmp_path):
    def norm(x):
        return x / torch.sqrt((x * x).mean(-1, keepdim=True) + 1e-8)

    graph = exported(norm, tmp_path, {"x": torch.rand(1, 4)}, zeros={"x": torch.zeros(1, 4)})
    assert graph.check["pass"]
    assert comparison.ran(tmp_path / graph.file, {"x": torch.zeros(1, 4)})["y"].tolist() == [[0.0] * 4]


@pytest.mark.parametrize(
    ("a", "b", "close"), [(1e-8, 0.0, False), (0.0, 0.0, True), (1 + 1e-9, 1.0, True), (0, 1, False)]
)
def test_only_zero_is_zero(a, b, close):
    assert optimising._Strict.isclose(a, b, rel_tol=1e-5, abs_tol=1e-8) is close


LOWEST = torch.finfo(torch.float32).min


@pytest.mark.parametrize("hidden", [-torch.inf, LOWEST])
def test_rows_of_attention_that_see_nothing_are_those_of_torch(tmp_path, hidden):
    def attend(x, mask):
        return torch.nn.functional.scaled_dot_product_attention(x, x, x, attn_mask=mask)

    torch.manual_seed(0)
    first = {"x": torch.randn(1, 2, 4, 8), "mask": torch.zeros(1, 1, 4, 4)}
    masks = {name: torch.zeros(1, 1, 4, 4) for name in ("a_whole_row", "all_but_one")}
    masks["a_whole_row"][..., 1, :] = masks["all_but_one"][..., 2, 1:] = hidden
    graph = exported(attend, tmp_path, first, **{name: {"mask": mask} for name, mask in masks.items()})
    assert [row["pass"] for row in graph.check["samples"]] == [True, True]
    assert not graph.tried

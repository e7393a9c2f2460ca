"""The places of a mask are found by the graph, and only their number is fixed."""

import pytest
import torch

from assay_runner.checking.further import Further
from assay_runner.engines.formats import ONNX
from assay_runner.exporting import whereabouts
from assay_runner.exporting.call import Subject
from assay_runner.exporting.graph import Options
from assay_runner.subjects.samples import Sample

IMAGE = 9


@pytest.mark.parametrize("shape", [(7,), (3, 5), (2, 3, 4)])
def test_places_are_those_of_nonzero(shape):
    for seed in range(5):
        mask = torch.rand(shape, generator=torch.Generator().manual_seed(seed)) < 0.5
        right = mask.nonzero(as_tuple=True)
        found = whereabouts.found(mask, right[0].shape[0])
        assert [axis.tolist() for axis in found] == [axis.tolist() for axis in right]


def test_what_is_written_to_all_places_is_laid_over_the_rest():
    mask, below = torch.tensor([[0, 1, 0, 1], [1, 0, 0, 0]]).bool(), torch.zeros(2, 4, 3)
    values = torch.arange(9.0).reshape(3, 3) + 1
    found = whereabouts.found(mask, 3)
    assert torch.equal(whereabouts.written(below, found, values), below.index_put(found, values))
    other = whereabouts.found(mask, 3)
    for indices in (found[:1], found[::-1], mask.nonzero(as_tuple=True), (found[0], whereabouts.found(~mask, 3)[1])):
        assert whereabouts.written(below, indices, values) is None
    assert whereabouts.written(below, (found[0], other[1]), values) is not None  # the same mask, asked twice
    assert whereabouts.written(below, found, 1.0) is None


class Placing(torch.nn.Module):
    """Puts an image where its tokens stand, if there are any."""

    config = None

    def forward(self, input_ids, pixel_values):
        words = input_ids.float()[..., None].expand(-1, -1, 2)
        if not (input_ids == IMAGE).any():
            return {"y": words}
        places = torch.nonzero(input_ids == IMAGE, as_tuple=True)
        return {"y": words.index_put(indices=places, values=pixel_values, accumulate=False) * 2}


def test_a_graph_puts_images_wherever_their_tokens_stand(tmp_path):
    model, pixels = Placing(), torch.rand(2, 2)
    texts = [torch.tensor([ids]) for ids in ([1, IMAGE, IMAGE, 2, 3], [IMAGE, 4, 1, 2, IMAGE])]
    first, moved = ({"input_ids": ids, "pixel_values": pixels} for ids in texts)
    further = [Further(Sample("placed tokens moved", moved), model(**moved))]
    graph = ONNX.write(Subject(model, first, {}, model(**first), Options(), further), tmp_path)
    assert graph.check["samples"][0]["pass"]
    [step] = [step for step in graph.steps if step["name"] == "fixed choices"]
    assert step["by"] == ["input_ids"]  # that there are any
    assert step["count"] == 1


class Truncating(torch.nn.Module):
    """Cuts off what its mask hides in every row, which changes nothing."""

    config = None

    def forward(self, input_ids, attention_mask):
        longest = int(attention_mask.sum(1).max().item())
        words, mask = input_ids.float()[:, :longest], attention_mask[:, :longest]
        return {"y": (words * mask).sum(1)}


class Dividing(torch.nn.Module):
    """Reads how long its text is, which changes something."""

    config = None

    def forward(self, input_ids, attention_mask):
        return {"y": (input_ids * attention_mask).sum(1) / int(attention_mask.sum().item())}


@pytest.mark.parametrize(("model", "kept"), [(Truncating(), True), (Dividing(), False)])
def test_a_mask_stays_where_what_it_decides_does_not_matter(tmp_path, model, kept):
    first = {"input_ids": torch.tensor([[3, 1, 2, 5]]), "attention_mask": torch.ones(1, 4, dtype=torch.int64)}
    hidden = first | {"attention_mask": torch.tensor([[1, 1, 1, 0]])}
    further = [Further(Sample("hidden", hidden), model(**hidden))]
    graph = ONNX.write(Subject(model, first, {}, model(**first), Options(), further), tmp_path)
    assert ("attention_mask" in [row["name"] for row in graph.inputs]) is kept
    assert ("fixed choices" in [step["name"] for step in graph.steps]) is False
    assert ("constant inputs" in [step["name"] for step in graph.steps]) is not kept

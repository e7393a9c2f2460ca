"""What depends on values while it is traced: experts that are chosen, and choices that are fixed as a last resort."""

import onnxruntime
import pytest
import torch

from assay_runner.engines.formats import ONNX
from assay_runner.errors import ExportFailed
from assay_runner.exporting import exporters, ways
from assay_runner.exporting.call import Subject


@pytest.fixture
def open_ways(monkeypatch):
    """Only torch's own exporter, with choices left open."""
    monkeypatch.setattr(ways, "WAYS", (ways.Way(exporters.TORCH, frozenset()),))


@pytest.fixture
def fixed_ways(monkeypatch):
    """Only torch's own exporter, with choices left open and then fixed."""
    fixed = ways.Way(exporters.TORCH, frozenset(), chosen=True)
    monkeypatch.setattr(ways, "WAYS", (ways.Way(exporters.TORCH, frozenset()), fixed))


class Plain(torch.nn.Module):
    """A model of one function."""

    config = None

    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, **kwargs):
        return {"y": self.function(**kwargs)}


class Experts(torch.nn.Module):
    """Experts in the loop that models write."""

    num_experts = 4

    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.randn(self.num_experts, 3, 3))

    def forward(self, hidden_states, top_k_index, top_k_weights):
        final = torch.zeros_like(hidden_states)
        mask = torch.nn.functional.one_hot(top_k_index, num_classes=self.num_experts + 1).permute(2, 1, 0)
        for expert in torch.greater(mask.sum(dim=(-1, -2)), 0).nonzero():
            slots, tokens = torch.where(mask[expert[0]])
            given = (hidden_states[tokens] @ self.weight[expert[0]]).exp() * top_k_weights[tokens, slots, None]
            final.index_add_(0, tokens, given)
        return final


class Mixture(torch.nn.Module):
    """Tokens go to the two experts that they like best."""

    config = None

    def __init__(self):
        super().__init__()
        self.router = torch.nn.Linear(3, Experts.num_experts)
        self.experts = Experts()

    def forward(self, x):
        weights, chosen = self.router(x).softmax(-1).topk(2)
        return {"y": self.experts(x, chosen, weights)}


def exported(model, folder, **tensors):
    """A model as a graph, with its own numbers as those that are expected."""
    with torch.no_grad():
        expected = {name: t.clone() for name, t in model(**{n: t.clone() for n, t in tensors.items()}).items()}
    return ONNX.write(Subject(model, tensors, {}, expected), folder)


def run(folder, **tensors):
    session = onnxruntime.InferenceSession(folder / "model.onnx")
    return torch.from_numpy(session.run(None, {name: t.numpy() for name, t in tensors.items()})[0])


def fixed(graph):
    """What the step of fixed choices says; empty where there is none."""
    return next((step["why"] for step in graph.steps if step["name"] == "fixed choices"), "")


@pytest.mark.usefixtures("open_ways")
def test_a_loop_over_chosen_experts_is_right_for_other_choices_too(tmp_path):
    torch.manual_seed(0)
    model = Mixture()
    graph = exported(model, tmp_path, x=torch.randn(6, 3))
    assert graph.steps[0]["name"] == "dense experts"
    assert graph.check["pass"]
    other = torch.randn(6, 3)
    torch.testing.assert_close(run(tmp_path, x=other), model(other)["y"].detach())
    assert "forward" not in vars(model.experts)


class Converting(torch.nn.Module):
    """Converts its layer each time it is called."""

    config = None

    def __init__(self, dtype):
        super().__init__()
        self.layer, self.dtype = torch.nn.Linear(2, 2), dtype

    def forward(self, x):
        self.layer = self.layer.to(self.dtype)
        return {"y": self.layer(x)}


@pytest.mark.usefixtures("open_ways")
def test_a_conversion_to_what_is_there_is_left_out(tmp_path):
    assert exported(Converting(torch.float32), tmp_path, x=torch.randn(3, 2)).check["pass"]


@pytest.mark.usefixtures("open_ways")
def test_squeezing_a_longer_axis_does_nothing(tmp_path):
    assert exported(Plain(lambda x: x.squeeze(0).exp()), tmp_path, x=torch.randn(2, 3)).check["pass"]


def padded(ids, x):
    """Without padding, the plain sum."""
    hidden = ids == 0
    return (x.masked_fill(hidden, 0.0) if hidden.any() else x).cumsum(-1)


def placed(ids, x):
    """The features at the places of a token, where there are two."""
    found = x[ids == 7]
    return found.exp() if len(found) == 2 else x


def grown(ids, x):
    """As long as what is computed says."""
    length = x.abs().ceil().long().clamp(min=1)
    total = length.sum()
    table = torch.zeros(total, dtype=torch.float)
    table[: length[0]] = x[0]
    return torch.repeat_interleave(x, length) + table + torch.arange(total)


def written(ids, x):
    """Decides by what was written into a tensor."""
    seen = torch.zeros_like(x)
    seen[ids == 7] = x[ids == 7]
    seen += 1.0
    return x * 2 if seen.sum() > len(seen) + 5 else x * 3


IDS, X = torch.tensor([3, 7, 7, 5]), torch.tensor([0.5, 3.5, 2.5, 1.5])


@pytest.mark.usefixtures("fixed_ways")
@pytest.mark.parametrize(("function", "sources"), [(padded, "ids"), (placed, "ids"), (grown, "x"), (written, "ids, x")])
def test_choices_are_fixed_and_said(function, sources, tmp_path):
    graph = exported(Plain(function), tmp_path, ids=IDS, x=X)
    assert graph.check["pass"]
    assert len(graph.tried) == 1
    assert f"by the values of {sources} are fixed" in fixed(graph)
    assert "test_export_choices.py:" in fixed(graph)


@pytest.mark.usefixtures("fixed_ways")
def test_only_the_choice_is_fixed(tmp_path):
    exported(Plain(placed), tmp_path, ids=IDS, x=X)
    torch.testing.assert_close(run(tmp_path, x=X * 3), placed(IDS, X * 3))


@pytest.mark.usefixtures("fixed_ways")
def test_what_weights_alone_decide_is_no_fixed_choice(tmp_path):
    class Switched(torch.nn.Module):
        config = None

        def __init__(self):
            super().__init__()
            self.gate = torch.nn.Parameter(torch.ones(1))

        def forward(self, x):
            return {"y": x.exp() if self.gate > 0 else x}

    graph = exported(Switched(), tmp_path, x=X)
    assert graph.check["pass"]
    assert not fixed(graph)


@pytest.mark.usefixtures("open_ways")
def test_choices_stay_open_where_they_are_not_to_be_fixed(tmp_path):
    with pytest.raises(ExportFailed, match="data-dependent"):
        exported(Plain(padded), tmp_path, ids=IDS, x=X)


@pytest.mark.usefixtures("open_ways")
def test_a_table_like_noise_that_the_model_fills_is_traced(tmp_path):
    def filled(x):
        table = torch.zeros_like(torch.arange(3) * 2.0)
        table[1:] = x
        return table

    assert exported(Plain(filled), tmp_path, x=torch.randn(2)).check["pass"]


def test_what_was_counted_can_be_filled(tmp_path):
    def filled(x):
        places = torch.arange(4.0).expand(2, -1).clone()
        places[:, 1:3] = x
        return places * 2

    assert exported(Plain(filled), tmp_path, x=torch.randn(2)).check["pass"]


@pytest.mark.usefixtures("open_ways")
def test_places_given_one_by_one(tmp_path):
    def marked(x):
        rows = x.argsort()
        table = torch.full_like(x, 1.0)
        table[tuple(rows[:2]),] = 0.0
        return x * table

    assert exported(Plain(marked), tmp_path, x=torch.randn(4)).check["pass"]

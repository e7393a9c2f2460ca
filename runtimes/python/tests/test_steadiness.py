"""Answers that the last bit decides are recognised, and others are not taken for such."""

from types import SimpleNamespace

import pytest
import torch

from assay_runner.checking import steadiness
from assay_runner.checking.further import TIES, Further, known, steady
from assay_runner.checking.tolerances import Tolerance
from assay_runner.engines.formats import ONNX
from assay_runner.engines.graphs.artefact import Exporter
from assay_runner.subjects.samples import FIRST, LAST, Sample


class Choosing(torch.nn.Module):
    """Gives the row of a table that has the best score."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.score, self.table = torch.nn.Linear(4, 1, bias=False), torch.nn.Embedding(8, 4)

    def forward(self, x):
        best = self.score(x).squeeze(-1).argmax(-1)
        return {"y": self.table(best + torch.zeros_like(best))}


def test_equal_scores_prove_nothing():
    model, blank, drawn = Choosing().eval(), torch.zeros(1, 8, 4), torch.randn(1, 8, 4)

    def run(x):
        with torch.inference_mode():
            return model(x)

    assert not steadiness.steady(steadiness.moved(model, lambda: run(blank), run(blank)), 1e-3)
    assert steadiness.steady(steadiness.moved(model, lambda: run(drawn), run(drawn)), 1e-3)
    rows = [Further(Sample(name, {"x": x}), run(x)) for name, x in (("blank", blank), ("drawn", drawn))]
    kept, left = steady(rows, model, lambda given: run(given["x"]), 1e-3)
    assert [row.sample.name for row in kept] == ["drawn"]
    assert left == [{"name": "blank", "why": TIES}]


class Indexing(torch.nn.Module):
    """Takes the best two by scores of which a ReLU cuts off those below zero."""

    def __init__(self):
        super().__init__()
        self.score = torch.nn.Identity()

    def forward(self, x):
        best = torch.relu(self.score(x)).topk(2, dim=-1).indices.sort(-1).values
        return {"y": best.float()}


@pytest.mark.parametrize(
    ("scores", "meant"),
    [
        ([3.0, 2.0, -1.0, -2.0], True),  # what is cut off is not taken
        ([3.0, -2.0, -1.0, -3.0], False),
        ([-3.0, -2.0, -1.0, 2.0], False),
        ([-1.0, 3.0], True),  # all are taken, whichever is first
    ],
)
def test_scores_that_are_cut_off_are_equal(scores, meant):
    model, x = Indexing(), torch.tensor([scores])
    movement = steadiness.moved(model, lambda: model(x), model(x))
    assert steadiness.steady(movement, 1e-3) == meant


@pytest.mark.parametrize("last", [False, True])
@pytest.mark.parametrize("more", [{}, {"dim": 0}, {"largest": False}, {"dim": 1, "sorted": True}])
def test_scores_that_differ_are_taken_as_torch_takes_them(last, more):
    scores = torch.randperm(20, generator=torch.Generator().manual_seed(0)).reshape(4, 5).float()
    with steadiness._Best(last):
        found, method = torch.topk(scores, 3, **more), scores.topk(k=3, **more)
    expected = torch.topk(scores, 3, **more)
    for one in (found, method):
        assert torch.equal(one.values, expected.values) and torch.equal(one.indices, expected.indices)


@pytest.mark.parametrize("count", range(2, 9))
def test_two_trials_find_every_tie(count):
    """Whichever of the equal ones was chosen."""
    model = Choosing().eval()

    def run():
        with torch.inference_mode():
            return model(torch.zeros(1, count, 4))

    with torch.inference_mode():
        for chosen in range(count):
            expected = {"y": model.table(torch.tensor([chosen]))}
            assert not steadiness.steady(steadiness.moved(model, run, expected), 1e-3)


class Near(torch.nn.Module):
    """Chooses by a score that is some roundings above what it is compared with."""

    def __init__(self, gap):
        super().__init__()
        self.score, self.gap = torch.nn.Identity(), gap

    def forward(self, x):
        return {"y": (self.score(x) > 1.0 - self.gap).float()}


@pytest.mark.parametrize(("gap", "meant"), [(3.5e-7, True), (1e-4, False)])
def test_a_choice_that_is_only_near_is_found_before_anybody_is_blamed(gap, meant):
    """By two trials it is not, with this gap."""
    model, x = Near(gap), torch.tensor([1.0])
    assert steadiness.steady(steadiness.moved(model, lambda: model(x), model(x)), 1e-3)
    assert steadiness.doubtful(model, lambda: model(x), model(x), 1e-3) == meant


@pytest.mark.parametrize(
    ("given", "why"),
    [
        (torch.ones(2), "refuses"),
        (torch.full((3,), torch.nan), "not a number"),
        (torch.ones(3), ""),
    ],
)
def test_what_a_model_does_not_take_is_left_out(given, why):
    def run(tensors):
        if tensors["x"].shape[0] < 3:
            raise ValueError("too short")
        return {"y": tensors["x"] * 2}

    found, left = known([Sample("one", {"x": given})], run)
    assert [row.expected["y"].tolist() for row in found] == ([] if why else [[2, 2, 2]])
    assert bool(left) == bool(why)
    assert not left or why in left[0]["why"]


def test_a_sample_that_gives_other_shapes_counts():
    ids = [torch.tensor([1, 2]), torch.tensor([3, 4])]
    found, left = known([Sample("one", {"x": x}) for x in ids], lambda given: {"y": torch.zeros(int(given["x"].sum()))})
    assert [row.expected["y"].shape[0] for row in found] == [3, 7]
    assert not left
    row = found[1].row(found[0].expected, Tolerance(1e-3))
    assert row == {"name": "one", "max_rel": None, "tolerance": 1e-3, "pass": False, "output": "y"}


class Cancelling(torch.nn.Module):
    """Takes what two layers give from each other: the nearer they are, the more their rounding counts."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(1)
        self.one, self.two = torch.nn.Linear(4, 4), torch.nn.Linear(4, 4)

    def forward(self, x):
        return {"y": self.one(x) - x[:, :1] * self.one(x) + self.two(x) * 1e-4}


def test_what_roundings_do_is_known_by_output():
    """Of float32 alone: some of its roundings, and more where numbers cancel."""
    model, apart, near = Cancelling().eval(), torch.full((1, 4), 0.1), torch.full((1, 4), 0.999)

    def run(x):
        with torch.inference_mode():
            return model(x) | {"x": x, "count": torch.tensor([1])}

    plain, cancelled = (steadiness.rounding(model, lambda x=x: run(x), run(x)) for x in (apart, near))
    assert plain.keys() == {"y", "x"} and plain["x"] == (0.0, 0.0)
    assert 1e-8 < plain["y"][0] < 5e-6 < cancelled["y"][0]


def test_what_cancels_is_not_judged_in_a_narrow_dtype():
    model, apart, near = Cancelling().eval(), torch.full((1, 4), 0.1), torch.ones(1, 4)

    def run(given):
        with torch.inference_mode():
            return model(given["x"])

    rows = [Further(Sample(str(i), {"x": x}), run({"x": x})) for i, x in enumerate((apart, near))]
    kept, _ = steady(rows, model, run, 1.0)
    assert kept[0].unfit("fp16", 1e-2) == ""
    assert kept[1].unfit("fp16", 1e-2) == "too sensitive to rounding for fp16"
    assert kept[1].unfit("fp32", 1.0) == ""


class Saying(torch.nn.Module):
    """Gives as much as its ids say."""

    def forward(self, input_ids):
        return {"y": torch.linspace(1.0, 2.0, int(input_ids.sum()))}


def test_no_sample_of_a_graph_is_left_out_for_its_shapes():
    ids = {"name": "input_ids", "kind": "ids", "dtype": "int64", "shape": ["batch", 4], "low": 1, "high": 9}
    model, exporter = Saying(), Exporter.__new__(Exporter)
    exporter.session = SimpleNamespace(
        recipe={"inputs": [ids], "sizes": {}}, seed=0, dtype=torch.float32, tolerance=Tolerance(1e-3),
        forward=lambda model, given: model(**given),
    )  # fmt: skip
    kept, left = exporter._further(SimpleNamespace(model=model, parameters=0), {"batch": 1}, ONNX)
    assert [row.sample.name for row in kept] == ["from another seed", FIRST, LAST]
    assert len({row.expected["y"].shape for row in kept}) == 3
    assert not left

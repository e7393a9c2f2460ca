"""Training on torch: what is checked, what is timed, and faults that are planted."""

import pytest
import torch
import torch_recipes
from torch_emit import Emit, job

from assay_runner.checking import gradients
from assay_runner.engines.torch import adapters, engine, optimisers, stepping, training
from assay_runner.errors import Unsuited
from assay_runner.subjects import objectives
from assay_runner.subjects.programs import building


def ran(recipe, kind="check", **cell):
    emit = Emit()
    engine.run(job(recipe, kind, mode="train", size="tiny", **cell), emit)
    return emit.reports[0]


def right(report):
    told = report["training"]
    return report["numerics"]["pass"] and told["falls"] is not False and told["gradients"]["pass"]


@pytest.mark.parametrize("name", ["bert", "llama", "vit", "detr", "whisper"])
@pytest.mark.parametrize("optimizer", ["adamw", "sgd"])
def test_steps_are_those_of_the_reference(name, optimizer):
    report = ran(torch_recipes.ALL[name], optimizer=optimizer)
    told = report["training"]
    assert right(report), told
    assert told["falls"] is True
    assert len(told["losses"]) == training.STEPS + 1
    assert told["gradients"]["judged"] > told["gradients"]["negligible"]
    assert report["numerics"]["control"]["pass"], report["numerics"]["control"]


@pytest.mark.parametrize(
    "cell", [{"mixed": "bf16"}, {"mixed": "fp16"}, {"dtype": "bf16"}, {"activations": "recomputed"}]
)
def test_precisions_and_checkpointing(cell):
    report = ran(torch_recipes.LLAMA, **cell)
    assert right(report), report["training"]
    assert report["numerics"]["control"]["pass"]


def test_recomputed_activations_are_recomputed(monkeypatch):
    """The layers run twice for each step with a backward, once where activations are kept."""
    from transformers.models.llama.modeling_llama import LlamaMLP

    counts = []
    forward = LlamaMLP.forward
    monkeypatch.setattr(LlamaMLP, "forward", lambda self, x: counts.append(1) or forward(self, x))
    ran(torch_recipes.LLAMA)
    kept, counts[:] = len(counts), []
    ran(torch_recipes.LLAMA, activations="recomputed")
    assert len(counts) > 1.5 * kept


@pytest.mark.parametrize("optimizer", ["adamw", "sgd"])
def test_the_loss_is_that_of_a_plain_loop(optimizer):
    """A loop of ten lines with torch's own optimiser, in float64."""
    told = ran(torch_recipes.BERT, optimizer=optimizer)["training"]
    emit = Emit()
    session = engine.Session(job(torch_recipes.BERT, mode="train"), emit)
    model = building.build(torch_recipes.BERT, torch.float32, 0).model.double().eval()
    given = session.inputs({"batch": 1})
    objective = objectives.choose(model, given, {}, 0)
    assert objective.of == objectives.OWN == told["objective"]
    kinds = {"adamw": torch.optim.AdamW, "sgd": torch.optim.SGD}
    optimiser = kinds[optimizer](model.parameters(), lr=told["rate"])
    losses = []
    for _ in range(training.STEPS + 1):
        loss = model(**given, labels=objective.labels["labels"]).loss
        losses.append(loss.item())
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    assert told["losses"] == pytest.approx(losses, rel=1e-5)
    assert told["reference_losses"] == pytest.approx(losses, rel=1e-7)  # its weights are kept in fp32


def skipping(of):
    """Optimisers that are not given one group of parameters."""

    def made(name):
        def make(parameters, rate):
            rows = list(parameters)
            del rows[of]
            return optimisers.MADE[name](rows, rate)

        return make

    return {name: made(name) for name in (optimisers.ADAMW, optimisers.SGD)}


@pytest.mark.parametrize("group", [0, 3, 7, 11, -1])
@pytest.mark.parametrize("optimizer", ["adamw", "sgd"])
def test_an_optimiser_that_skips_a_group_is_noticed(monkeypatch, group, optimizer):
    monkeypatch.setattr(stepping, "optimisers", type("fake", (), {**vars(optimisers), "MADE": skipping(group)}))
    told = ran(torch_recipes.LLAMA, optimizer=optimizer)["training"]
    assert not told["gradients"]["pass"]
    assert len(told["gradients"]["missed"]) == 1
    assert told["falls"], "the loss alone does not tell"


def test_a_gradient_that_is_zeroed_is_noticed(monkeypatch):
    backward = stepping.Trainer.backward

    def zeroing(self, loss):
        backward(self, loss)
        self.model.model.layers[0].mlp.up_proj.weight.grad.zero_()

    monkeypatch.setattr(stepping.Trainer, "backward", zeroing)
    told = ran(torch_recipes.LLAMA)["training"]["gradients"]
    assert not told["pass"]
    assert told["worst"] == "model.layers.0.mlp.up_proj.weight"
    assert told["max_rel"] == pytest.approx(1.0)


def test_a_step_that_is_taken_twice_is_noticed(monkeypatch):
    step = stepping.Trainer.step

    def twice(self):
        self.optimiser.step()
        self.optimiser.step()
        step(self)

    monkeypatch.setattr(stepping.Trainer, "step", twice)
    assert not ran(torch_recipes.BERT, optimizer="sgd")["training"]["gradients"]["pass"]


def test_a_comparison_that_is_blind_fails_its_control(monkeypatch):
    monkeypatch.setattr(gradients, "TOLERANCES", dict.fromkeys(gradients.TOLERANCES, 2.0))
    monkeypatch.setattr(gradients, "_MOVED", (0.0, 9.0))
    assert ran(torch_recipes.BERT)["numerics"]["control"]["pass"] is False


def test_weights_are_afterwards_what_they_were():
    emit = Emit()
    session = engine.Session(job(torch_recipes.BERT, mode="train"), emit)
    built = session.built()
    before = {name: t.clone() for name, t in built.model.state_dict().items()}
    training.expected(session, built, session.inputs({"batch": 1}))
    assert all(torch.equal(t, before[name]) for name, t in built.model.state_dict().items())
    assert all(p.grad is None and p.dtype is torch.float32 for p in built.model.parameters())


@pytest.mark.parametrize("name", optimisers.MADE)
def test_rules_written_out_are_torchs(name):
    torch.manual_seed(1)
    theirs = torch.nn.Parameter(torch.randn(5, 3, dtype=torch.float64))
    ours = torch.nn.Parameter(theirs.detach().clone())
    optimiser, rule = optimisers.MADE[name]([theirs], 1e-2), optimisers.Written(name, 1e-2)
    for _ in range(5):
        theirs.grad = torch.randn_like(theirs)
        ours.grad = theirs.grad.clone()
        optimiser.step()
        rule.step({"p": ours})
    torch.testing.assert_close(ours, theirs, rtol=1e-12, atol=0)


@pytest.mark.parametrize(
    ("found", "moved", "passed"),
    [
        (1.0, 1.0, True),
        (1.0005, 1.0, True),
        (1.01, 1.0, False),  # another gradient
        (0.0, 1.0, False),
        (None, 1.0, False),  # frozen
        (1.0, 0.0, False),  # left out by the optimiser
        (1.0, None, False),
        (1.0, 3.0, False),
        (float("nan"), 1.0, False),
    ],
)
def test_comparing(found, moved, passed):
    """Of two parameters, one is wrong in some way."""
    torch.manual_seed(0)
    gradient, update = {n: torch.randn(40) for n in "ab"}, {n: torch.randn(40) for n in "ab"}

    def side(right, factor):
        rest = {"a": right["a"]}
        return rest if factor is None else rest | {"b": right["b"] * factor}

    seen = gradients.compare(side(gradient, found), gradient, side(update, moved), update, "fp32")
    assert seen.passed is passed
    assert passed or "b" in (seen.worst, *seen.missed)
    assert seen.report()["judged"] == 2


def test_gradients_that_are_rounding_are_not_judged():
    right = {"large": torch.ones(10), "rounding": torch.full((10,), 1e-9)}
    found = {"large": torch.ones(10), "rounding": torch.full((10,), -1e-9)}
    seen = gradients.compare(found, right, {}, {}, "fp32")
    assert (seen.passed, seen.negligible, seen.judged) == (True, 1, ["large"])
    assert not gradients.compare({}, {}, {}, {}, "fp32").passed  # nothing was judged


class Lazy:
    """A device that does its work when it is awaited, on a clock of its own."""

    def __init__(self):
        self.now, self.asked = 0, 0

    def synchronize(self):
        self.now, self.asked = self.now + self.asked, 0

    def forward(self):
        self.asked += 3_000_000

    def backward(self, loss):
        self.asked += 5_000_000

    def step(self):
        self.asked += 2_000_000


def test_parts_of_a_step_are_awaited_one_by_one():
    """A part without synchronisation would take nothing, and the next one its time too."""
    device = Lazy()
    found = stepping.apart(device, device.synchronize, 4, clock=lambda: device.now)
    assert found == {"forward": [3.0] * 4, "backward": [5.0] * 4, "step": [2.0] * 4}
    assert stepping.apart(device, lambda: None, 1, clock=lambda: device.now)["forward"] == [0.0]  # what that would show


def test_timed_steps():
    report = ran(torch_recipes.BERT, "time")
    parts = report["training"]["parts_ms"]
    assert set(parts) == {"forward", "backward", "step"}
    assert all(ms > 0 for row in parts.values() for ms in row)
    assert len(report["samples_ms"]) >= 5
    assert "backward" in report["inputs_inside"]
    assert report["phases_ms"]["first"] > 0


def test_timed_steps_drop_as_the_model_does(monkeypatch):
    seen = []
    forward = stepping.Trainer.forward
    monkeypatch.setattr(stepping.Trainer, "forward", lambda self: seen.append(self.model.training) or forward(self))
    ran(torch_recipes.BERT, "time")
    assert all(seen)


def test_what_cannot_be_trained():
    with pytest.raises(Unsuited, match="no gradient checkpointing"):
        ran(torch_recipes.ALL["bert"] | {"class": "ResNetForImageClassification", "config_class": "ResNetConfig",
            "config": {"embedding_size": 8, "hidden_sizes": [8, 8], "depths": [1, 1]}, "inputs": torch_recipes.PIXELS,
            "sizes": {"image": 32}}, activations="recomputed")  # fmt: skip
    with pytest.raises(Unsuited, match="by a program"):
        ran(torch_recipes.LLAMA | {"program": "continue"})


# LoRA.


@pytest.mark.parametrize("name", ["bert", "llama", "vit"])
def test_adapters_are_trained_and_the_base_stays(name):
    pytest.importorskip("peft")
    report = ran(torch_recipes.ALL[name], adapters="lora")
    told = report["training"]
    assert right(report), told
    assert told["adapters"]["base_moved"] == [] and told["adapters"]["modules"] > 2
    assert told["adapters"]["control"]["pass"], told["adapters"]
    assert told["gradients"]["judged"] == 2 * told["adapters"]["modules"] - told["gradients"]["negligible"]
    assert report["numerics"]["control"]["pass"] and "lora_" in report["numerics"]["control"]["of"]


def test_a_base_that_moves_is_noticed(monkeypatch):
    pytest.importorskip("peft")
    step = stepping.Trainer.step

    def leaking(self):
        with torch.no_grad():
            self.model.model.layers[0].mlp.up_proj.base_layer.weight[0, 0] += 1e-6
        step(self)

    monkeypatch.setattr(stepping.Trainer, "step", leaking)
    told = ran(torch_recipes.LLAMA, adapters="lora")["training"]["adapters"]
    assert told["pass"] is False and told["base_moved"] == ["model.layers.0.mlp.up_proj.base_layer.weight"]


def test_adapters_that_stay_are_noticed(monkeypatch):
    pytest.importorskip("peft")
    monkeypatch.setattr(stepping, "optimisers", type("fake", (), {**vars(optimisers), "MADE": skipping(1)}))
    told = ran(torch_recipes.LLAMA, adapters="lora")["training"]["gradients"]
    assert not told["pass"] and "lora_" in told["missed"][0]


def test_without_peft_it_says_so(monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "peft", None)
    with pytest.raises(ModuleNotFoundError, match="LoRA needs peft"):
        adapters.add(torch.nn.Linear(2, 2), 0)

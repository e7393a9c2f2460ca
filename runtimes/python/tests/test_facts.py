"""Facts: closed formulas, real runs, and what is said where something cannot be known."""

import json
import pathlib
import resource

import pytest
import torch
import torch_recipes
from torch import nn
from torch_emit import Emit

from assay_runner import jobs
from assay_runner.facts import answer, forwards, hollow, place, sheet
from assay_runner.facts.census import MOST_SHAPES, Census
from assay_runner.facts.flops import Flops
from assay_runner.facts.liveness import Liveness
from assay_runner.facts.trace import Trace, plainly
from assay_runner.facts.traffic import Traffic, size
from assay_runner.subjects import models
from assay_runner.subjects.programs import building

CATALOGUE = pathlib.Path(__file__).parents[3] / "internal/catalog/data/recipes.json"
KB = 1024


def recipe(model_type, of_size="tiny"):
    rows = json.loads(CATALOGUE.read_text())["recipes"]
    return next(r for r in rows if r["type"] == model_type and r["size"] == of_size)


def flops_of(function, *args):
    book = Flops()
    with torch.no_grad(), Trace(plainly, [book]):
        function(*args)
    return book


@pytest.mark.parametrize(
    ("function", "args", "expected"),
    [
        (nn.Linear(8, 3), [torch.ones(5, 8)], 2 * 5 * 8 * 3),
        (nn.Linear(8, 3, bias=False), [torch.ones(2, 5, 8)], 2 * 10 * 8 * 3),
        (nn.Conv2d(4, 6, 3, padding=1), [torch.ones(2, 4, 10, 10)], 2 * 2 * 10 * 10 * 6 * 4 * 9),
        (nn.Conv2d(4, 4, 3, groups=4), [torch.ones(1, 4, 5, 5)], 2 * 3 * 3 * 4 * 9),
        (nn.Conv1d(4, 8, 5, stride=2), [torch.ones(1, 4, 21)], 2 * 9 * 8 * 4 * 5),
        (torch.mv, [torch.ones(7, 5), torch.ones(5)], 2 * 7 * 5),
        (torch.dot, [torch.ones(9), torch.ones(9)], 2 * 9),
        (torch.bmm, [torch.ones(3, 4, 5), torch.ones(3, 5, 6)], 2 * 3 * 4 * 5 * 6),
        (nn.functional.scaled_dot_product_attention, [torch.ones(2, 4, 16, 8)] * 3, 2 * 4 * (2 * 2 * 16 * 16 * 8)),
        (torch.relu, [torch.ones(4)], 0),
    ],
)
def test_flops_equal_closed_formulas(function, args, expected):
    assert flops_of(function, *args).total == expected


def test_what_has_no_formula_is_listed_and_what_only_moves_is_not():
    book = flops_of(lambda x: torch.fft.rfft(torch.relu(x)).clone().view(-1), torch.ones(8))
    assert book.report()["not_counted"] == {"aten.relu": 1, "aten._fft_r2c": 1}


def encoder(tokens, width, inner, layers, span):
    """Matrix products and attention of plain transformer layers."""
    return layers * (2 * tokens * (4 * width**2 + 2 * width * inner) + 4 * span**2 * width * (tokens // span))


def test_bert_base():
    found = sheet.of(recipe("bert", "full"), {"batch": 2, "seq": 64})
    tokens, width = 128, 768
    head = 2 * tokens * (width**2 + width * 30522)
    assert found["flops"]["total"] == encoder(tokens, width, 3072, 12, span=64) + head
    assert found["parameters"]["total"] == 109_514_298
    assert found["weights_bytes"] == {"fp32": 438_057_192, "fp16": 219_028_596, "bf16": 219_028_596}
    assert found["outputs"] == [{"name": "logits", "shape": [2, 64, 30522], "dtype": "float32"}]
    assert found["sizes"] == {"batch": 2, "seq": 64}
    assert found["missing"] == {}
    assert sum(part["parameters"] for part in found["parameters"]["modules"]) == 109_514_298


def test_vit_base():
    found = sheet.of(recipe("vit", "full"), {"batch": 1})
    patches = 2 * 196 * 768 * (3 * 16 * 16)
    total = encoder(197, 768, 3072, 12, span=197) + patches + 2 * 768 * 1000
    assert found["flops"]["total"] == total
    assert total == pytest.approx(2 * 17.56e9, rel=1e-3)


def test_a_model_of_seven_billion_parameters_takes_no_memory():
    config = {"hidden_size": 4096, "intermediate_size": 11008, "num_hidden_layers": 32, "num_attention_heads": 32,
              "num_key_value_heads": 32, "vocab_size": 32000, "tie_word_embeddings": False}  # fmt: skip
    large = {**torch_recipes.LLAMA, "config": config, "size": "full", "parameters": 6_738_415_616}
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    found = sheet.of(large, {"batch": 1, "seq": 512})
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert grown * KB < 256 << 20
    assert found["parameters"]["total"] == 6_738_415_616
    layers = 32 * (2 * 512 * (4 * 4096**2 + 3 * 4096 * 11008) + 4 * 512**2 * 4096)
    assert found["flops"]["total"] == layers + 2 * 512 * 4096 * 32000
    assert found["attention"] == "sdpa"


TYPES = ["bert", "llama", "vit", "t5", "whisper", "wav2vec2", "detr", "clip", "llava", "mixtral", "mamba2",
         "qwen3_omni_moe_thinker"]  # fmt: skip


@pytest.mark.parametrize("model_type", TYPES)
def test_shapes_alone_show_what_a_real_run_does(model_type):
    row, seen = recipe(model_type), {}
    for method in (forwards.SHAPES, forwards.CPU):
        seen[method] = forwards.Seen()
        forwards._go(forwards._Way(method), row, {"batch": 2}, seen[method])
    shapes, real = seen[forwards.SHAPES], seen[forwards.CPU]
    assert shapes.books["operators"].report() == real.books["operators"].report()
    assert shapes.books["flops"].report() == real.books["flops"].report()
    assert shapes.books["bytes"].report() == real.books["bytes"].report()
    assert shapes.found == real.found
    assert building.count(shapes.model) == building.count(real.model) == row["parameters"]
    # A real operator may keep a workspace in its result that shapes do not know of; nothing else differs.
    assert shapes.books["activations"].peak == pytest.approx(real.books["activations"].peak, rel=0.05)


def test_tied_parameters_count_once_and_stay_tied():
    found = sheet.of(torch_recipes.LLAMA, {})
    assert found["parameters"]["total"] == building.count(building.build(torch_recipes.LLAMA, torch.float32, 0).model)
    built = hollow.model(torch_recipes.LLAMA, hollow.Hollow())
    assert built.lm_head.weight is built.model.embed_tokens.weight


class Chosen(nn.Module):
    """Asks for a value that its weights decide."""

    def __init__(self, config):
        super().__init__()
        self.gate = nn.Linear(4, 4)

    def forward(self, x):
        return self.gate(x)[: int(self.gate(x).argmax())]


def test_who_asked_for_a_value_is_named():
    run = hollow.Hollow()
    with Trace(run, ()):
        model = Chosen(None)
    with pytest.raises(Exception) as raised, torch.no_grad(), Trace(run, ()):
        model(torch.ones(4, 4))
    text = place.described(raised.value)
    assert "Chosen, test_facts.py:" in text


def test_what_cannot_be_seen_is_null_with_its_reason():
    found = sheet.of({**recipe("switch_transformers"), "size": "full"}, {"batch": 1})
    assert found["flops"] is found["operators"] is found["activations"] is found["outputs"] is None
    assert found["method"] is None
    assert found["parameters"]["total"] == recipe("switch_transformers")["parameters"]
    assert "SwitchTransformersTop1Router, modeling_switch_transformers.py:" in found["missing"]["flops"]


def test_a_tiny_model_that_shapes_cannot_show_is_run():
    found = sheet.of(recipe("switch_transformers"), {"batch": 1})
    assert found["method"] == "cpu"
    assert found["experts"] == {"implementation": "eager", "counted": "the experts that tokens chose in this run"}
    assert found["missing"] == {}


def test_mixtures_say_which_experts_were_counted():
    found = sheet.of(recipe("mixtral"), {"batch": 1, "seq": 16})
    assert found["experts"]["implementation"] == "grouped_mm"
    config = {"hidden": 64, "inner": 128, "chosen": 2, "layers": 2}
    experts = config["layers"] * 2 * 16 * config["chosen"] * 3 * config["hidden"] * config["inner"]
    assert found["flops"]["by_operator"]["aten._grouped_mm"] == experts


def test_a_size_without_effect_is_said():
    found = sheet.of(torch_recipes.BERT, {"batch": 1, "image": 64})
    assert found["sizes"] == {"batch": 1, "seq": 16}
    assert found["notes"] == ["image 64 has no effect: this model's inputs do not depend on it"]


def test_a_large_batch_takes_no_memory():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    found = sheet.of(torch_recipes.VIT, {"batch": 1 << 20})
    assert (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * KB < 256 << 20
    assert found["inputs"] == [{"name": "pixel_values", "shape": [1 << 20, 3, 32, 32], "dtype": "float32"}]
    assert found["flops"]["total"] == sheet.of(torch_recipes.VIT, {"batch": 1})["flops"]["total"] << 20


def test_liveness_ends_with_the_last_reference():
    x = torch.ones(256)
    book = Liveness([x])
    with torch.no_grad(), Trace(plainly, [book]):
        y = x + 1  # 1 KiB
        z = y * 2  # 2 KiB
        del y
        z.add_(1)  # in place: nothing new
        w = z.view(2, 128) - 1  # 2 KiB
        del z, w
        x + 1
    assert book.report() == {"sum_bytes": 4 * KB, "peak_bytes": 2 * KB, "tensors": 4}


def test_traffic_reads_what_is_needed():
    book = Traffic()
    table, ids = torch.ones(1000, 8), torch.zeros(4, dtype=torch.int64)
    with torch.no_grad(), Trace(plainly, [book]):
        rows = nn.functional.embedding(ids, table)
        rows.t()
    assert book.report() == {"read": 4 * 8 * 4 + 4 * 8, "written": 4 * 8 * 4}
    assert size(torch.ones(1, 8).expand(1000, 8)) == 32
    assert size(torch.ones(0, 8)) == 0


def test_the_census_is_bounded():
    book = Census()
    with torch.no_grad(), Trace(plainly, [book]):
        for n in range(1, MOST_SHAPES + 4):
            torch.ones(n).neg()
    (row,) = [row for row in book.report()["rows"] if row["operator"] == "aten.neg.default"]
    assert row["count"] == MOST_SHAPES + 3
    assert len(row["shapes"]) == MOST_SHAPES
    assert row["shapes_left_out"] == 3
    assert row["dtypes"] == ["float32"]


class Truncated(nn.Module):
    """Draws its weights by rejection."""

    def __init__(self, config):
        super().__init__()
        self.weight = nn.Parameter(nn.init.trunc_normal_(torch.empty(4, 4)))


def test_weights_are_not_drawn(monkeypatch):
    monkeypatch.setattr(models, "model_class", lambda recipe: Truncated)
    run = hollow.Hollow()
    assert run.lacks_values(hollow.model(torch_recipes.BERT, run).weight)
    drawn = Truncated(None).weight
    assert drawn.std() > 0  # torch's own draw is back


def test_values_that_follow_from_inputs_stay():
    run = hollow.Hollow()
    with torch.no_grad(), Trace(run, ()):
        weight = torch.empty(4, 4)
        ids = torch.arange(4)
        assert int(ids.sum()) == 6
        assert run.lacks_values(weight)
        assert run.lacks_values(weight[ids > 1])
        assert weight[ids > 1].shape == (2, 4)
        ids.copy_(weight[0])
        assert run.lacks_values(ids)
        huge = torch.ones(1 << 40)
    assert run.lacks_values(huge)
    assert huge.shape == (1 << 40,)


def test_a_job_is_answered():
    emit = Emit()
    job = {"kind": "facts", "recipe": torch_recipes.BERT, "points": [{"batch": 3, "seq": 8, "image": 0}]}
    assert jobs.function_for(job) == "facts.answer"
    answer(job, emit)
    assert emit.answer["sizes"] == {"batch": 3, "seq": 8}
    assert emit.answer["evidence"] == "derived"

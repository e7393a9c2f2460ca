"""Laws that a right model obeys: a toy that obeys them, one that breaks each, and real types."""

import ast
import contextlib
import io

import law_toys
import pytest
import torch
import torch_recipes
from torch_emit import Emit, job
from trials import lawbreakers, subjects
from trials.lawful import Lawful

from assay_runner.checking import laws, tolerances
from assay_runner.checking.laws import scripts, stretches
from assay_runner.engines.torch import engine

NAMES = [law.name for law in laws.LAWS]
LIMIT = tolerances.of_cell(law_toys.RECIPE, {}, "fp32")


def obeyed(built, **more):
    rows = laws.check(built, law_toys.RECIPE, {}, 0, law_toys.forward, LIMIT, **more)
    return {row["law"]: row for row in rows}


def test_a_right_model_obeys_every_law():
    rows = obeyed(law_toys.built())
    assert {name: row["status"] for name, row in rows.items()} == dict.fromkeys(NAMES, "holds"), rows


@pytest.mark.parametrize("law", NAMES)
def test_a_law_notices_who_breaks_it(law, monkeypatch):
    monkeypatch.setattr(law_toys.Toy, "fault", law)
    row = obeyed(law_toys.built(), only=[law])[law]
    assert row["status"] == "broken", row
    assert row["max_rel"] is None or row["max_rel"] > row["tolerance"]
    assert row["sample"]["input_ids"]["shape"][1] == 12


def test_a_tensor_that_no_output_shows_is_missed_too(monkeypatch):
    def lost(self, *args, **kwargs):
        state = torch.nn.Module.state_dict(self, *args, **kwargs)
        places = state["places.weight"]
        return state | {"places.weight": torch.cat([places[:63], 0 * places[63:]])}

    monkeypatch.setattr(law_toys.Toy, "state_dict", lost)
    row = obeyed(law_toys.built(), only=["saving"])["saving"]
    assert (row["status"], row["output"], row["why"]) == (
        "broken",
        "places.weight",
        "a tensor that was saved and loaded",
    )


def test_what_is_shown_is_as_short_as_can_be(monkeypatch):
    monkeypatch.setattr(law_toys.Toy, "fault", "causality")
    monkeypatch.setattr(scripts, "script", lambda *_: "a script")
    row = obeyed(law_toys.built(), only=["causality"], repro=True)["causality"]
    assert (row["sample"]["input_ids"]["shape"], row["script"]) == ([1, 2], "a script")


def test_what_raises_is_unknown_and_what_does_not_apply_says_why(monkeypatch):
    built = law_toys.built()
    built.attention = "eager"
    monkeypatch.setattr(law_toys.Toy, "save_pretrained", lambda *_: 1 / 0)
    rows = obeyed(built, only=["saving", "attention"])
    assert (rows["saving"]["status"], rows["saving"]["why"]) == ("unknown", "ZeroDivisionError: division by zero")
    assert (rows["attention"]["status"], rows["attention"]["why"]) == (
        "not-applicable",
        "its attention is eager, and not sdpa",
    )


def test_what_draws_numbers_is_not_judged_by_rows(monkeypatch):
    monkeypatch.setattr(law_toys.Toy, "broken", lambda self, x: x + torch.randn_like(x))
    rows = obeyed(law_toys.built())
    assert {name for name, row in rows.items() if row["status"] == "holds"} == {
        "attention", "saving", "training", "repetition",
    }  # fmt: skip
    assert rows["batch"]["why"] == "it draws numbers while it runs, others for each row"


def test_a_model_is_left_as_it_was():
    built = law_toys.built()
    model = built.model
    model.drop.p, model.note = 0.3, {}
    before = {name: t.clone() for name, t in model.state_dict().items()}
    obeyed(built)
    assert (model.training, model.drop.p, model.drop.training, model.runs) == (False, 0.3, False, 0)
    assert (model.config.attention_dropout, model.config._attn_implementation) == (0.1, "sdpa")
    assert all(torch.equal(t, before[name]) for name, t in model.state_dict().items())


def test_statistics_that_training_keeps_are_put_back():
    norm = torch.nn.BatchNorm1d(4)
    model = torch.nn.Sequential(norm, torch.nn.Dropout(0.5)).eval()
    from assay_runner.checking.laws import modes

    with modes.undropped(model):
        assert model.training and not norm.training and model[1].p == 0
        norm.running_mean += 1
    assert not model.training and model[1].p == 0.5 and norm.running_mean.eq(0).all()


def test_what_is_cut_off_comes_after_what_is_placed():
    ids = {"name": "input_ids", "kind": "ids", "shape": ["batch", "seq + 4"], "place": [{"id": 9, "at": 2, "count": 4}]}
    mask = {"name": "attention_mask", "kind": "ones", "shape": ["batch", "seq + 4"]}
    marks = {"name": "token_type_ids", "kind": "ids", "shape": ["batch", "seq + 4"]}
    tensors = {
        "input_ids": torch.arange(16).reshape(2, 8),
        "attention_mask": torch.ones(2, 8, dtype=torch.int64),
        "token_type_ids": torch.arange(16).reshape(2, 8),
    }
    recipe = {"inputs": [ids, mask, marks]}
    found = stretches.find(recipe, {"seq": 4, "batch": 1}, tensors, config_of(pad_token_id=1, vocab_size=20))
    (one,) = found
    assert (one.count, one.ids, one.pad, set(one.along)) == (2, "input_ids", 1, set(tensors))
    after, before = (stretches.padded(tensors, found, 0, side) for side in (True, False))
    assert after["input_ids"].tolist() == [[0, 1, 2, 3, 4, 5, 1, 1], [8, 9, 10, 11, 12, 13, 14, 15]]
    assert before["input_ids"].tolist() == [[1, 1, 0, 1, 2, 3, 4, 5], [8, 9, 10, 11, 12, 13, 14, 15]]
    assert after["attention_mask"][0].tolist() == [1] * 6 + [0] * 2
    assert before["attention_mask"][0].tolist() == [0] * 2 + [1] * 6
    short = stretches.cut(tensors, found)
    assert {name: tuple(t.shape) for name, t in short.items()} == dict.fromkeys(tensors, (2, 6))


def config_of(**values):
    return type("Config", (), values)()


WORDS = stretches.Stretch("attention_mask", {"input_ids": 1, "attention_mask": 1}, 8, 8, 0, False, "input_ids")


@pytest.mark.parametrize(("before", "behind"), [(0, 0), (4, 0), (0, 4)])
@pytest.mark.parametrize("after", [True, False])
def test_padding_is_taken_out_wherever_a_model_puts_other_things(before, behind, after):
    words, pads = torch.randn(1, 5, 3), torch.full((1, 3, 3), 9.0)
    first, last = torch.randn(1, before, 3), torch.randn(1, behind, 3)
    short = {"hidden": torch.cat([first, words, last], 1), "pooled": words[:, 0]}
    long = {"hidden": torch.cat([first, *([words, pads] if after else [pads, words]), last], 1), "pooled": words[:, 0]}
    found, expected = stretches.shorter(long, short, [WORDS], after)
    assert set(found) == {"hidden", "pooled"}
    assert all(torch.equal(found[name], t) for name, t in expected.items())


def test_inputs_with_several_lines_for_a_row_are_padded_in_all_of_them():
    tensors = {"input_ids": torch.ones(4, 8, dtype=torch.int64), "attention_mask": torch.ones(2, 8, dtype=torch.int64)}
    made = stretches.padded(tensors, [WORDS], 0, True)
    assert made["input_ids"][:, -1].tolist() == [0, 0, 1, 1]
    assert made["attention_mask"][:, -1].tolist() == [0, 1]


def test_what_is_visible_of_a_sound_is_thinned_as_the_model_does():
    mask = torch.tensor([[1, 1, 1, 1, 0, 0, 0, 0]])
    given = {"frames": torch.arange(4.0).reshape(1, 4, 1), "words": torch.zeros(1, 3, 2), "pooled": torch.zeros(1, 2)}
    seen = stretches.visible(given, mask, {3})
    assert {name: tuple(t.shape) for name, t in seen.items()} == {
        "frames": (2, 1),
        "words": (1, 3, 2),
        "pooled": (1, 2),
    }
    assert seen["frames"].flatten().tolist() == [0, 1]


def test_masks_of_what_was_observed_are_not_of_padding():
    recipe = {
        "inputs": [
            {"name": "past_values", "kind": "float", "shape": ["batch", 8]},
            {"name": "past_observed_mask", "kind": "ones", "shape": ["batch", 8]},
        ]
    }
    assert stretches.find(recipe, {}, {"past_observed_mask": torch.ones(1, 8)}, None) == []


def test_rows_that_take_turns_are_found(monkeypatch):
    """As where everything is computed twice, once without what guides it."""
    monkeypatch.setattr(law_toys.Toy, "broken", lambda self, x: torch.cat([x, 2 * x]))
    assert obeyed(law_toys.built(), only=["batch"])["batch"]["status"] == "holds"


@pytest.mark.parametrize(("fault", "status"), [(False, "holds"), (True, "broken")])
def test_evaluation_may_scale_by_a_probability_and_may_not_drop(monkeypatch, fault, status):
    def wrong(self, x):
        dropped = torch.nn.functional.dropout(x, self.drop.p, True)
        return dropped if fault else x * (1 - self.drop.p)

    monkeypatch.setattr(law_toys.Toy, "broken", wrong)
    assert obeyed(law_toys.built(), only=["training"])["training"]["status"] == status


@pytest.fixture(scope="module", params=["bert", "gpt2", "t5"])
def real(request):
    return Lawful.of(subjects.tiny()[request.param])


APPLY = {
    "bert": {"padding", "batch", "attention", "saving", "training", "repetition"},
    "gpt2": set(NAMES),
    "t5": set(NAMES),
}


def test_real_types_obey(real):
    rows = {row["law"]: row["status"] for row in real.rows()}
    wanted = {name: "holds" if name in APPLY[real.recipe["type"]] else "not-applicable" for name in NAMES}
    assert rows == wanted


FAULTS = {
    "mask taken for ones": "padding",
    "rows leak": "batch",
    "other scale in sdpa": "attention",
    "half precision on saving": "saving",
    "another number in training": "training",
    "noise without a seed": "repetition",
}


@pytest.mark.parametrize("fault", FAULTS)
def test_faults_in_a_library_are_noticed(real, fault):
    (planted,) = (one for one in lawbreakers.FAULTS if one.name == fault)
    with planted.planted(real.built.model):
        (row,) = real.rows([FAULTS[fault]])
    assert row["status"] == "broken", row
    (row,) = real.rows([FAULTS[fault]])
    assert row["status"] == "holds", row


@pytest.mark.parametrize("type", ["jais2", "deepseek_ocr2_text"])
@pytest.mark.parametrize("fault", ["mask ignored", "mask taken for ones"])
def test_causal_models_are_padded_at_the_start_whether_they_generate_or_not(type, fault):
    """Behind positions that begin again the library would guess the mask that is ignored."""
    real = Lawful.of(subjects.tiny()[type])
    assert real.rows(["padding"])[0]["status"] == "holds"
    (planted,) = (one for one in lawbreakers.FAULTS if one.name == fault)
    with planted.planted(real.built.model):
        (row,) = real.rows(["padding"])
    assert (row["status"], row["why"]) == ("broken", "padded at the start")


@pytest.mark.parametrize(
    ("type", "fault"),
    [
        ("bert", "mask taken for ones"),
        ("bert", "rows leak"),
        ("bert", "other scale in sdpa"),
        ("bert", "a tensor lost on saving"),
        ("bert", "another number in training"),
        ("gpt2", "keys of a cache turned"),
        ("gpt2", "mean over time"),
        ("bert", "noise without a seed"),
    ],
)
def test_a_script_shows_it_without_assay(type, fault):
    real = Lawful.of(subjects.tiny()[type])
    (planted,) = (one for one in lawbreakers.FAULTS if one.name == fault)
    with planted.planted(real.built.model):
        about = real.built, real.recipe, {}, 0, real.forward, real.case.tolerance
        broken = [row for row in laws.check(*about, repro=True) if row["status"] == "broken"]
        assert broken
        for row in broken:
            assert last_line(row["script"]) == "shows", row
    for row in broken:
        assert last_line(row["script"]) == "gone", row["script"]
        assert len(row["script"].splitlines()) <= 20
        imported = [
            node for node in ast.walk(ast.parse(row["script"])) if isinstance(node, (ast.Import, ast.ImportFrom))
        ]
        names = {alias.name for node in imported if isinstance(node, ast.Import) for alias in node.names}
        modules = names | {node.module.partition(".")[0] for node in imported if isinstance(node, ast.ImportFrom)}
        assert modules <= {"torch", "transformers", "tempfile"}


def last_line(script):
    said = io.StringIO()
    with contextlib.redirect_stdout(said), torch.no_grad():
        exec(compile(script, "script", "exec"), {"__name__": "__main__"})
    return said.getvalue().splitlines()[-1]


def test_laws_are_in_the_report_of_a_check_that_asks_for_them():
    asked, plain = Emit(), Emit()
    engine.run({**job(torch_recipes.BERT), "laws": True}, asked)
    engine.run(job(torch_recipes.BERT), plain)
    assert [row["law"] for row in asked.reports[0]["laws"]] == NAMES
    assert "laws" in asked.phases
    assert "laws" not in plain.reports[0]
    assert asked.reports[0]["numerics"]["output_hash"] == plain.reports[0]["numerics"]["output_hash"]


@pytest.mark.parametrize("cell", [{"dtype": "bf16"}, {"mode": "generate"}, {"size": "full"}])
def test_other_cells_have_no_laws(cell):
    emit = Emit()
    recipe = torch_recipes.LLAMA if cell.get("mode") else torch_recipes.BERT
    engine.run({**job(recipe, **cell), "laws": True}, emit)
    assert "laws" not in emit.reports[0]

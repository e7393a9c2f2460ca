"""Recipes: shrinking by rule, inputs that fit, controls that can fail, refusals in a sentence."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from assay_runner.catalogue import published  # noqa: E402
from assay_runner.errors import BadRecipe, NotInRelease  # noqa: E402
from assay_runner.introspection import classes, defaults  # noqa: E402
from assay_runner.introspection.modalities import modalities_of  # noqa: E402
from assay_runner.subjects.fitting import (  # noqa: E402
    controls,
    places,
    special,
    verify,
)
from assay_runner.subjects.fitting.guess import Forward, Guess, write  # noqa: E402
from assay_runner.subjects.fitting.layouts import COMPANIONS, PARAMETERS  # noqa: E402
from assay_runner.subjects.fitting.repairs import repair  # noqa: E402
from assay_runner.subjects.fitting.search import Fitted, NoFit, fit  # noqa: E402
from assay_runner.subjects.programs import building  # noqa: E402
from assay_runner.subjects.recipes import given, making, on_demand  # noqa: E402
from assay_runner.subjects.shrinking import LADDER, shrink  # noqa: E402


@pytest.fixture(scope="module", autouse=True)
def one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


class Heard:
    """Keeps what a job answers."""

    def data(self, data: dict) -> None:
        self.answer = data


@pytest.mark.parametrize("model_type", ["bert", "vit", "llava", "whisper"])
def test_tiny_recipe_runs_and_can_fail(model_type: str) -> None:
    recipe = making.tiny(model_type)
    assert recipe["parameters"] == building.parameter_count(recipe) < 1_000_000
    model = building.build(recipe, torch.float32, 0).model
    fitted = Fitted(recipe["inputs"], recipe["sizes"], recipe["call"])
    assert verify.check(model, fitted) == fitted
    chosen = controls.choose(recipe)
    assert (chosen.written(), chosen.gain) == (recipe["control"], recipe["gain"])
    assert chosen.effect >= controls.WANTED and chosen.kind in controls.DAMAGES


def test_same_recipe_again() -> None:
    one, two = (json.dumps(making.tiny("gpt2")) for _ in range(2))
    assert one == two


def test_seq_is_free_and_pictures_are_fixed() -> None:
    assert making.tiny("bert")["sizes"] == {"seq": 16}
    vit = making.tiny("vit")
    assert vit["sizes"] == {} and vit["inputs"][0]["shape"] == ["batch", 3, 64, 64]


def test_placeholders_are_as_many_as_features() -> None:
    text = next(spec for spec in making.tiny("llava")["inputs"] if spec["name"] == "input_ids")
    assert text["place"] == [{"id": 255, "at": 4, "count": 16}]
    assert text["shape"] == ["batch", "seq + 16"]


def test_an_ignored_input_is_found_out() -> None:
    class Deaf(torch.nn.Module):
        def forward(self, input_ids, pixel_values):
            return {"logits": input_ids.float()}

    text = {"name": "input_ids", "kind": "ids", "dtype": "int64", "shape": ["batch", 4], "low": 0, "high": 100}
    picture = {"name": "pixel_values", "kind": "float", "dtype": "float32", "shape": ["batch", 3]}
    with pytest.raises(verify.Unfit, match="does not depend on pixel_values"):
        verify.check(Deaf(), Fitted([text, picture], {}))


def test_other_task() -> None:
    recipe = making.tiny("bert", "question-answering")
    assert recipe["class"] == "BertForQuestionAnswering"
    with pytest.raises(BadRecipe, match="no head for task 'flying'"):
        making.tiny("bert", "flying")
    with pytest.raises(NotInRelease, match="no model type 'brt'"):
        making.tiny("brt")


def test_full_recipe() -> None:
    recipe = making.full(published.named("bert-base-uncased"))
    assert (recipe["size"], recipe["checkpoint"]) == ("full", "google-bert/bert-base-uncased")
    assert (recipe["sizes"], recipe["parameters"], recipe["gain"]) == ({"seq": 128}, 109_514_298, 1.0)


def test_shapes_name_known_parameters() -> None:
    assert set(COMPANIONS) <= set(PARAMETERS)
    assert all(PARAMETERS.values())


def test_companions_go_along() -> None:
    from transformers import Qwen2VLForConditionalGeneration as Model

    parameters = classes.signature(Model)
    forward = Forward(parameters, modalities_of(Model, parameters), {"C": 3, "T": 2, "P": 14, "H": 56, "W": 56}, 256)
    written = write(Guess(("input_ids", "pixel_values")), forward)
    assert written is not None
    shapes = {spec["name"]: spec.get("shape", spec.get("value")) for spec in written[0]}
    assert shapes["pixel_values"] == ["batch*16", 3 * 2 * 14 * 14]
    assert shapes["image_grid_thw"] == [[1, 4, 4]]
    assert shapes["attention_mask"] == ["batch", "seq"]


def test_messages_repair() -> None:
    forward = Forward({}, frozenset({"image", "text"}), {"C": 3, "P": 16, "M": 80, "D": 64}, 256)
    guess = Guess(("input_ids", "pixel_values"))
    unequal = "Image features and image tokens do not match: tokens: 4, features 16"
    counted = repair(ValueError(unequal), guess, forward)
    assert counted is not None and counted.places == {"image": 16}
    message = "Given groups=1, weight of size [8, 1, 3, 3], expected input[1, 3, 8, 8] to have 1 channels, but got 3"
    grey = repair(RuntimeError(message), guess, forward)
    assert grey is not None and grey.sizes == {"C": 1}
    assert repair(RuntimeError("something else"), guess, forward) is None


def test_special_rows_have_reasons() -> None:
    known = classes.all_types()
    may = set("default set inputs layouts sizes places without unheeded call gains generate".split())
    for row in special.rows():
        says = {key for key in row if row[key]} - {"type", "why"}
        assert row["why"] and says and says <= may
        assert set(special.types(row)) <= set(known)


def test_special_rows_are_few() -> None:
    assert len(special.rows()) <= 60


def test_rows_for_one_type_are_taken_together() -> None:
    start = special.start("pp_ocrv6_medium_det")
    assert start["kernel_list"] == [3, 2, 2] and start["backbone_config"]["out_indices"] == [1, 2, 3, 4]
    assert special.start("bert") == {} and special.amend("bert", {"a": 1}) == {"a": 1}
    bert = {"type": "bert", "task": "fill-mask", "size": "tiny"}
    assert special.inputs(bert) == special.Inputs()


def test_shapes_of_rows_are_those_of_tiny_models() -> None:
    tiny = special.inputs({"type": "pop2piano", "task": "", "size": "tiny"})
    full = special.inputs({"type": "pop2piano", "task": "", "size": "full"})
    assert tiny.main == full.main == ("input_features",) and tiny.layouts and not full.layouts


def test_parts_that_a_default_leaves_out_are_made() -> None:
    whole = defaults.default(classes.config_class("gemma4"), {})
    assert whole["vision_config"]["model_type"] == "gemma4_vision"


def test_code_that_turns_by_sections_gets_them() -> None:
    text = defaults.default(classes.config_class("qwen2_vl_text"), {})
    assert text["rope_parameters"]["mrope_section"] == defaults.SECTIONS
    assert "mrope_section" not in defaults.default(classes.config_class("llama"), {})["rope_parameters"]


WORDS_LEFT = {
    "above all words": ([255], (5, 196)),
    "near the start": ([10], (11, 196)),
    "near the end": ([190], (5, 190)),
    "two": ([10, 190], (11, 190)),
}


@pytest.mark.parametrize("case", WORDS_LEFT)
def test_words_are_never_placeholders(case: str) -> None:
    tokens, (low, high) = WORDS_LEFT[case]
    text = {"name": "input_ids", "kind": "ids", "dtype": "int64", "shape": ["batch", "seq"], "low": 5, "high": 196}
    found = places.insert([text], {}, [(token, 2, 1) for token in tokens])[0]
    assert (found["low"], found["high"]) == (low, high) and found["shape"] == ["batch", f"seq + {2 * len(tokens)}"]


def test_first_error_is_told() -> None:
    class Picky(torch.nn.Module):
        config = classes.config_class("vit")()

        def forward(self, pixel_values):
            raise ValueError(f"no pictures of {pixel_values.dim()} dimensions")

    with pytest.raises(NoFit, match="no pictures of 4 dimensions"):
        fit(Picky(), special.Inputs())
    with pytest.raises(NoFit, match="no shape for dreams"):
        fit(type("Dreamer", (Picky,), {"forward": lambda self, dreams: None})(), special.Inputs())


def test_special_rows_reach_into_sub_configurations() -> None:
    assert special.merge({"a": {"b": 1, "c": 2}}, {"a": {"b": 3}}) == {"a": {"b": 3, "c": 2}}


REFUSED = {
    "not JSON": ("{", "is not JSON"),
    "a list": ("[1]", "does not hold a JSON object"),
    "no type": ('{"hidden_size": 64}', "names no model_type"),
    "unknown type": ('{"model_type": "brt"}', "model_type 'brt'"),
    "too many layers": ('{"model_type": "bert", "num_hidden_layers": 1000000000}', "num_hidden_layers = 1e"),
    "too wide": ('{"model_type": "bert", "hidden_size": 10000000000000000}', "which no model has"),
    "negative": ('{"model_type": "bert", "hidden_size": -64}', "cannot be made"),
    "indivisible": ('{"model_type": "bert", "hidden_size": 65, "num_attention_heads": 12}', "cannot be made"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_config_is_refused(case: str, tmp_path: Path) -> None:
    text, says = REFUSED[case]
    path = tmp_path / "config.json"
    path.write_text(text)
    with pytest.raises(BadRecipe, match=says):
        given.recipe(path)


def test_config_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(BadRecipe, match="cannot read"):
        given.recipe(tmp_path / "absent.json")


def test_answer_from_a_config(tmp_path: Path) -> None:
    values = {
        "model_type": "bert", "architectures": ["BertForSequenceClassification"], "hidden_size": 32, "vocab_size": 99,
        "num_attention_heads": 2, "num_hidden_layers": 5, "intermediate_size": 64,
    }  # fmt: skip
    (tmp_path / "config.json").write_text(json.dumps(values))
    heard = Heard()
    on_demand.answer({"kind": "recipe", "cell": {"type": "bert"}, "options": {"config": str(tmp_path)}}, heard)
    assert heard.answer["class"] == "BertForSequenceClassification"
    assert heard.answer["config"]["num_hidden_layers"] == 5
    assert heard.answer["parameters"] == building.parameter_count(heard.answer)


def test_shrink_leaves_its_argument_alone() -> None:
    default = classes.config_class("llava")().to_dict()
    before = json.dumps(default, default=str)
    shrink(default, LADDER[0])
    assert json.dumps(default, default=str) == before


def test_weak_controls_of_the_catalogue_are_in_its_documentation() -> None:
    tree = Path(__file__).resolve().parents[3]
    made = json.loads((tree / "internal/catalog/data/recipes.json").read_text(encoding="utf-8"))["recipes"]
    tiny = {row["type"]: row["control"] for row in made if row["size"] == "tiny"}
    assert tiny and all(row["effect"] >= controls.NEEDED for row in tiny.values())
    told = (tree / "docs/models.md").read_text(encoding="utf-8")
    weak = {name: row for name, row in tiny.items() if row["effect"] < controls.WANTED}
    assert weak
    for name, row in weak.items():
        assert f"| {name} | {row['kind']} | {row['effect']} |" in told


def test_gaps_of_the_catalogue_are_in_its_documentation() -> None:
    tree = Path(__file__).resolve().parents[3]
    book = json.loads((tree / "internal/catalog/data/recipes.json").read_text(encoding="utf-8"))
    told = (tree / "docs/models.md").read_text(encoding="utf-8")
    assert book["gaps"] and all(gap["reason"] and f"| {gap['type']} | " in told for gap in book["gaps"])
    assert f"{sum(row['size'] == 'tiny' for row in book['recipes'])} of the 742 types" in told


def test_pipelines_of_the_catalogue_are_in_their_documentation() -> None:
    tree = Path(__file__).resolve().parents[3]
    made = json.loads((tree / "internal/catalog/data/pipeline_recipes.json").read_text(encoding="utf-8"))["recipes"]
    told = (tree / "docs/pipelines.md").read_text(encoding="utf-8")
    assert f"{len(made)} pipelines of {len({row['type'] for row in made})} types" in told
    for row in made:
        assert f"| {row['type']} | {row['task']} | {row['class']} |" in told


# Spread over families; made again on every change.
REMADE = ("deberta-v2", "llama", "mamba2", "mixtral", "patchtst", "qwen2_vl", "rag", "t5", "vit", "wav2vec2")


@pytest.mark.parametrize("model_type", REMADE)
def test_recipes_of_the_catalogue_are_what_is_made(model_type: str) -> None:
    tree = Path(__file__).resolve().parents[3]
    book = json.loads((tree / "internal/catalog/data/recipes.json").read_text(encoding="utf-8"))
    if book["transformers"] != transformers.__version__:
        pytest.skip(f"the catalogue is of transformers {book['transformers']}")
    kept = next(row for row in book["recipes"] if row["type"] == model_type and row["size"] == "tiny")
    made = making.tiny(model_type)
    assert json.dumps(_plain(made)) == json.dumps(_plain(kept))
    assert _damages(made) == pytest.approx(_damages(kept), rel=0.2)
    assert made.get("unmoved") == kept.get("unmoved")
    for dtype, rows in kept["rounding"].items():
        for output, errors in rows.items():
            for now, then in zip(made["rounding"][dtype][output], errors, strict=True):
                assert 0.2 < max(now, 1e-7) / max(then, 1e-7) < 5, (dtype, output)


def _plain(recipe: dict[str, Any]) -> dict[str, Any]:
    """Without what another processor's roundings decide."""
    return {key: value for key, value in recipe.items() if key not in ("rounding", "damages", "unmoved")}


def _damages(recipe: dict[str, Any]) -> dict[str, float]:
    return {row["kind"]: row["effect"] for row in recipe["damages"] if row["effect"] > 1e-4}


@pytest.mark.parametrize(
    ("model_type", "task"),
    [
        ("bert", "multiple-choice"),
        ("bart", "text-classification"),
        ("speecht5", "text-to-speech"),
        ("wav2vec2", "audio-frame-classification"),
        ("patchtst", "time-series-regression"),
        ("rf_detr", "image-segmentation"),
    ],
)
def test_heads_other_than_the_default_have_recipes(model_type, task):
    recipe = making.tiny(model_type, task)
    assert recipe["task"] == task
    assert recipe["class"] != making.head(model_type)[1].__name__
    assert recipe["control"]["effect"] >= 0.1


def test_one_configuration_serves_all_heads() -> None:
    own, other = (
        making.full(published.named("bert-base-uncased")),
        making.full(published.named("bert-base-uncased"), "feature-extraction"),
    )
    assert (other["class"], other["task"], other["checkpoint"]) == (
        "BertModel",
        "feature-extraction",
        own["checkpoint"],
    )
    assert other["config"] == own["config"]
    assert 0 < other["parameters"] < own["parameters"] + 1_000_000

"""Recipes against processors: a dozen types agree, wrong recipes are found out, and the tables are as documented."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
pytest.importorskip("torchvision")

from assay_runner.subjects import inputs, models  # noqa: E402
from assay_runner.subjects.fitting import places  # noqa: E402
from assay_runner.subjects.processors import comparing, finding, known, material, probing, report, settings  # noqa: E402
from assay_runner.subjects.processors.probing import Seen  # noqa: E402
from assay_runner.subjects.processors.verdict import Difference, Verdict, judge  # noqa: E402
from assay_runner.subjects.programs import building  # noqa: E402

HAVE = {
    "CLIPImageProcessor": ["size", "crop_size"],
    "AriaImageProcessor": ["max_image_size"],
    "SamImageProcessor": ["pad_size"],
    "Idefics3ImageProcessor": ["do_image_splitting"],
    "Phi4MultimodalImageProcessor": ["dynamic_hd"],
    "LayoutLMv3ImageProcessor": ["apply_ocr"],
    "DeepseekOcr2ImageProcessor": ["tile_size"],
    "DeepseekVLHybridImageProcessor": ["high_res_size"],
    "Qwen2VLImageProcessor": ["patch_size", "temporal_patch_size", "merge_size"],
    "Pix2StructImageProcessor": ["max_patches"],
    "Siglip2ImageProcessor": ["max_num_patches"],
    "MllamaImageProcessor": ["max_image_tiles"],
    "LlavaNextImageProcessor": ["image_grid_pinpoints"],
    "Gemma4UnifiedVideoProcessor": ["num_frames"],
    "SpeechT5FeatureExtractor": ["num_mel_bins"],
    "WhisperFeatureExtractor": ["feature_size"],
    "Gemma4UnifiedAudioFeatureExtractor": ["audio_samples_per_token"],
    "ASTFeatureExtractor": ["max_length"],
    "ClapFeatureExtractor": ["truncation"],
}
"""A processor class for each setting, in the order of the table."""
if any(getattr(transformers, name, None) is None for name in HAVE):
    pytest.skip("this release has other processors", allow_module_level=True)

TREE = Path(__file__).resolve().parents[3]
EMBEDDED = json.loads((TREE / "internal/catalog/data/recipes.json").read_text(encoding="utf-8"))["recipes"]
TINY = {recipe["type"]: recipe for recipe in EMBEDDED if recipe["size"] == "tiny"}


def floats(name: str, *shape: int | str, **more: Any) -> dict[str, Any]:
    return {"name": name, "kind": "float", "dtype": "float32", "shape": list(shape), **more}


def recipe(model_type: str, cls: str, config: dict[str, Any], *specs: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": model_type,
        "class": cls,
        "config_class": "",
        "size": "tiny",
        "config": config,
        "sizes": {"seq": 16},
        "inputs": list(specs),
    }


GRID = {"name": "image_grid_thw", "kind": "value", "dtype": "int64", "value": [[1, 4, 4]], "per_batch": True}
WRITTEN = {
    written["type"]: written
    for written in (
        recipe("videomae", "VideoMAEForVideoClassification", {"image_size": 64},
               floats("pixel_values", "batch", 16, 3, 64, 64)),
        recipe("qwen2_vl", "Qwen2VLModel", {"vision_config": {"patch_size": 8}},
               floats("pixel_values", "batch*16", 384), GRID),
        recipe("pix2struct_vision_model", "Pix2StructVisionModel", {},
               floats("flattened_patches", "batch", 16, 770, grid=4)),
        recipe("univnet", "UnivNetModel", {},
               floats("input_features", "batch", 96, 100), floats("noise_sequence", "batch", 96, 64)),
        recipe("superglue", "SuperGlueForKeypointMatching", {}, floats("pixel_values", "batch", 2, 3, 64, 64)),
    )
}  # fmt: skip
AGREEING = (
    "bert", "t5", "llama", "vit", "detr", "clip", "blip", "llava", "llava_next", "whisper", "wav2vec2",
    "qwen2_5_omni_thinker", *WRITTEN,
)  # fmt: skip


def of(model_type: str) -> dict[str, Any]:
    return copy.deepcopy(WRITTEN.get(model_type) or TINY[model_type])


def changed(model_type: str, name: str, **changes: Any) -> dict[str, Any]:
    """A recipe with one input changed."""
    wrong = of(model_type)
    next(spec for spec in wrong["inputs"] if spec["name"] == name).update(changes)
    return wrong


@pytest.mark.parametrize("model_type", AGREEING)
def test_types_agree(model_type: str) -> None:
    verdict = judge(of(model_type))
    assert (verdict.status, verdict.differences, verdict.unchecked) == ("agrees", (), ())
    assert verdict.processors and verdict.compared


WRONG = (
    ("vit", "pixel_values", {"shape": ["batch", 64, 64, 3]}, "the recipe has [batch, 64, 64, 3]"),
    ("vit", "pixel_values", {"shape": [3, "batch", 64, 64]}, "the recipe has [3, batch, 64, 64]"),
    ("vit", "pixel_values", {"shape": ["batch", 1, 3, 64, 64]}, "pixel_values has [batch, 3, 64, 64]"),
    ("videomae", "pixel_values", {"shape": ["batch", 3, 16, 64, 64]}, "the recipe has [batch, 3, 16, 64, 64]"),
    ("qwen2_vl", "pixel_values", {"shape": ["batch*16", 192]}, "pixel_values is [batch, 384]"),
    ("qwen2_vl", "image_grid_thw", {"value": [[4, 4]]}, "image_grid_thw is [batch, 3]"),
    ("whisper", "input_features", {"shape": ["batch", 200, 80]}, "input_features is [batch, 80, free]"),
    ("wav2vec2", "input_values", {"shape": ["batch", 1, "samples"]}, "input_values has [batch, free]"),
    ("bert", "input_ids", {"dtype": "float32"}, "input_ids is int, the recipe has float"),
    ("pix2struct_vision_model", "flattened_patches", {"grid": 0}, "counts in its columns 0, 1"),
)


@pytest.mark.parametrize(("model_type", "name", "changes", "text"), WRONG)
def test_wrong_recipes_are_found_out(model_type: str, name: str, changes: dict[str, Any], text: str) -> None:
    verdict = judge(changed(model_type, name, **changes))
    assert verdict.status == "disagrees"
    assert any(text in difference.text for difference in verdict.differences), verdict.differences


def test_inputs_too_few_and_too_many_are_found_out() -> None:
    quiet, crowded = of("univnet"), of("clip")
    quiet["inputs"].pop()
    crowded["inputs"].append({**GRID, "name": "image_sizes", "value": [[64, 64]]})
    found = [[difference.text for difference in judge(one).differences] for one in (quiet, crowded)]
    assert found[0] == ["noise_sequence is given by UnivNetFeatureExtractor, the recipe lacks it"]
    assert len(found[1]) == 1 and found[1][0].startswith("image_sizes is not given by CLIPImageProcessor")


def test_a_type_without_a_processor_says_why() -> None:
    verdict = judge(recipe("patchtst", "PatchTSTModel", {}, floats("past_values", "batch", 32, 1)))
    assert verdict.status == "none" and verdict.unchecked == ("past_values",) and verdict.reasons


def test_what_needs_files_is_a_reason() -> None:
    verdict = judge(recipe("timm_wrapper", "TimmWrapperModel", {}, floats("pixel_values", "batch", 3, 64, 64)))
    assert verdict.status == "none" and "TimmWrapperImageProcessor cannot be made" in verdict.reasons[0]


LEFT_OUT = (
    ("detr", "pixel_mask", ("batch", 64, 64), torch.ones),
    ("bert", "token_type_ids", ("batch", 16), torch.zeros),
    ("wav2vec2", "attention_mask", ("batch", 8000), torch.ones),
)


@pytest.mark.parametrize(("model_type", "name", "shape", "filled"), LEFT_OUT)
def test_what_is_left_out_changes_nothing(model_type: str, name: str, shape: tuple[Any, ...], filled: Any) -> None:
    """The reasons of the table hold: the model's output is the same with and without."""
    assert name in comparing.LEFT_OUT
    one = of(model_type)
    model = building.build(one, torch.float32, 0).model
    made = inputs.make(one, {"batch": 2}, 0, torch.float32)
    given = {key: t for key, t in made.items() if key != name}
    extra = {name: filled([2 if entry == "batch" else entry for entry in shape], dtype=torch.int64)}
    with torch.no_grad():
        without, beside = (model(**given, **more, **one["call"])[0] for more in ({}, extra))
    assert torch.allclose(without, beside, atol=1e-5)


def test_marks_of_placeholders_may_be_token_types() -> None:
    assert places.mark_names("gemma3", {"token_type_ids": None}) == ("token_type_ids",)
    assert places.mark_names("gemma3", {"mm_token_type_ids": None, "token_type_ids": None}) == ("mm_token_type_ids",)
    assert places.mark_names("paligemma", {"token_type_ids": None}) == ()
    assert places.mark_names("bert", {"token_type_ids": None}) == ()
    text = {"name": "input_ids", "kind": "ids", "dtype": "int64", "shape": ["batch", "seq"], "low": 5, "high": 196}
    marks = places.insert([text], ("token_type_ids",), [(250, 3, 1)])[1]
    assert (marks["name"], marks["shape"]) == ("token_type_ids", ["batch", "seq + 3"])
    assert marks["place"] == [{"id": 1, "at": places.START, "count": 3}]


@pytest.mark.parametrize(
    ("mine", "its", "count"),
    [
        (Seen("float", ("batch", 3, "free", "free")), Seen("float", ("batch", 3, 64, 64)), 0),
        (Seen("float", ("batch", 3, 64, 64)), Seen("float", ("batch", 3, "free", "free")), 0),
        (Seen("float", ("batch", 4)), Seen("float", ("batch", 5)), 1),
        (Seen("int", ("batch", 4)), Seen("float", ("batch", 5)), 2),
        (Seen("int", (1, "batch")), Seen("int", ("batch", 1)), 1),
        (Seen("int", ("batch",)), Seen("int", ("batch", "free")), 1),
    ],
)
def test_axes_are_compared_where_both_are_fixed(mine: Seen, its: Seen, count: int) -> None:
    assert len(comparing.differences("name", mine, its)) == count
    assert comparing.differences("name", mine, mine) == []


def test_axes_are_learnt_from_what_changes() -> None:
    assert [probing._axis(*lengths) for lengths in ((1, 1, 2), (3, 3, 3), (7, 9, 7), (16, 20, 32), (0, 0, 0))] == [
        "batch", 3, "free", "batch", 0,
    ]  # fmt: skip


def test_material_is_the_same_every_time_and_another_for_another_number() -> None:
    for make in (
        lambda number: material.picture(8, 12, number),
        lambda number: material.video(2, 8, 12, number),
        lambda number: material.sound(0.1, 8000, number),
    ):
        assert np.array_equal(make(0), make(0)) and not np.array_equal(make(0), make(1))


def test_every_setting_is_one_that_some_processor_has() -> None:
    assert [setting.name for setting in settings.SETTINGS] == [name for names in HAVE.values() for name in names]
    assert all(setting.why for setting in settings.SETTINGS)
    for cls, names in HAVE.items():
        made = getattr(transformers, cls)()
        assert [name for name in names if getattr(made, name, None) is None] == [], cls


def test_a_part_has_the_processor_of_its_whole() -> None:
    part = recipe("clip_vision_model", "CLIPVisionModel", {}, floats("pixel_values", "batch", 3, 224, 224))
    found = finding.classes(part, models.config(part))["image"]
    assert (found.cls, found.owner) == (transformers.CLIPImageProcessor, "clip")


def test_known_rows_are_distinct_and_have_reasons() -> None:
    named = [(name, one) for row in known.ROWS for name in row.types for one in row.inputs]
    assert len(named) == len(set(named)) and all(row.why and row.types and row.inputs for row in known.ROWS)
    assert known.reason("aria", "pixel_values") and not known.reason("vit", "pixel_values")


def test_tables_name_what_differs_and_what_disagrees() -> None:
    def verdict(name: str, status: str, *found: Difference) -> Verdict:
        return Verdict(name, status, (), (), (), found, ())

    found = [
        verdict("one", "differs", Difference("x", "for a reason")),
        verdict("two", "disagrees", Difference("y is int")),
    ]
    assert "| disagrees | 1 |" in report.summary(found)
    assert "| one | for a reason |" in report.differences(found)
    assert "| two | **disagrees:** y is int |" in report.differences(found)


def test_the_command_fails_where_a_recipe_disagrees(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "recipes.json"
    wrong = changed("vit", "pixel_values", shape=["batch", 64, 64, 3])
    file.write_text(json.dumps({"recipes": [wrong, TINY["bert"]]}), encoding="utf-8")
    assert report.main(["--recipes", str(file), "--types", "bert"]) == 0
    capsys.readouterr()
    assert report.main(["--recipes", str(file), "--json"]) == 3
    written = json.loads(capsys.readouterr().out)["verdicts"]
    assert {row["type"]: row["status"] for row in written} == {"vit": "disagrees", "bert": "agrees"}


def documented() -> dict[str, set[str]]:
    """Type → the reasons that docs/models.md gives for it."""
    text = (TREE / "docs/models.md").read_text(encoding="utf-8").split("## Inputs against processors")[1]
    rows = [line.strip("| ").split(" | ") for line in text.split("\n## ")[0].splitlines() if line.startswith("| ")]
    told: dict[str, set[str]] = {}
    for names, why in (row for row in rows if len(row) == 2):
        for name in names.split(", "):
            told.setdefault(name, set()).add(why)
    return told


def test_documentation_has_the_tables() -> None:
    told = documented()
    assert {name for row in known.ROWS for name in row.types} <= set(told), "assay_runner processors prints them"
    for model_type in (*AGREEING, "xclip"):
        found = judge(of(model_type))
        reasons = {difference.why for difference in found.differences} | set(found.reasons)
        assert told.get(model_type, set()) == reasons, model_type

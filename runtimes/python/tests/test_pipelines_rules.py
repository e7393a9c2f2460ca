"""The tables for pipelines: shrinking, tasks, tokenizers, refusals. Nothing is built here but tokenizers."""

from __future__ import annotations

import json
from importlib import resources

import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")

from assay_runner.catalogue import model_types
from assay_runner.errors import BadRecipe, NotInRelease
from assay_runner.subjects.diffusion import tokenizers
from assay_runner.subjects.pipelines import asking, narrowing, rows, tasks
from assay_runner.subjects.recipes import making

# One example for each row of the table, in its order: name, default, small.
SHRUNK = [
    ("layers_per_block", 2, 1),
    ("num_layers", 28, 2),
    ("block_out_channels", (320, 640, 1280, 1280), [32, 64, 64, 64]),
    ("norm_num_groups", 32, 8),
    ("base_dim", 96, 16),
    ("axes_dims_rope", (16, 56, 56), [4, 6, 6]),
    ("num_attention_heads", (5, 10, 20, 20), [4, 4, 4, 4]),
    ("attention_head_dim", 128, 16),
    ("ffn_dim", 13824, 128),
    ("joint_attention_dim", 4096, 64),
    ("sample_size", 128, 32),
    ("sample_frames", 49, 5),
    ("pos_embed_max_size", 192, 32),
]


def test_every_row_has_an_example() -> None:
    assert [narrowing.rule_for(name) for name, _, _ in SHRUNK] == list(narrowing.RULES)
    assert all(rule.why for rule in narrowing.RULES)


@pytest.mark.parametrize(
    ("name", "default", "small"), SHRUNK, ids=lambda value: value if isinstance(value, str) else ""
)
def test_shrink(name: str, default: object, small: object) -> None:
    assert narrowing.shrink({name: default}) == {name: small}
    assert narrowing.shrink({name: small}) == {name: small}, "what is small stays"


@pytest.mark.parametrize("name", ["in_channels", "latent_channels", "patch_size", "num_embeds_ada_norm", "z_channels"])
def test_what_no_row_names_stays(name: str) -> None:
    assert narrowing.shrink({name: 1000, "flag": True, "open": None}) == {name: 1000, "flag": True, "open": None}


def test_axes_fill_a_head_and_are_even() -> None:
    for parts in [(16, 56, 56), (32, 48, 48), (32, 32, 32, 32), (256, 256), (44, 42, 42)]:
        small = narrowing.axes(parts)
        assert sum(small) == 16 and all(part > 0 and part % 2 == 0 for part in small)


def test_one_stage_of_each_kind() -> None:
    mixed = {"down_block_types": ("Cross", "Cross", "Plain"), "up_block_types": ("Up", "CrossUp", "CrossUp")}
    mixed["block_out_channels"] = (320, 640, 1280)
    assert narrowing.shrink(mixed) == {
        "down_block_types": ["Cross", "Plain"], "up_block_types": ["Up", "CrossUp"], "block_out_channels": [32, 64],
    }  # fmt: skip
    alike = {"down_block_types": ("Plain", "Plain"), "block_out_channels": (128, 256)}
    assert narrowing.shrink(alike)["down_block_types"] == ["Plain", "Plain"]


def test_rows_have_reasons_and_mean_something() -> None:
    data = json.loads(resources.files("assay_runner").joinpath("data/diffusion.json").read_text(encoding="utf-8"))
    for row in data["classes"] + data["pipelines"]:
        assert row["why"] and len(row["why"]) > 10, row
    assert rows.of_class("NoSuchClass") == {}
    assert rows.of_pipeline("StableDiffusionXLPipeline", "parts")["unet"]["cross_attention_dim"] == 128


def test_a_prompt_survives_its_tokenizer() -> None:
    config = tokenizers.config_for({"vocab_size": 256, "eos_token_id": 255, "bos_token_id": 254, "pad_token_id": 1})
    made = tokenizers.make(config)
    ids = [5, 17, 195]
    assert made(tokenizers.text(ids)).input_ids == [254, *ids, 255]
    assert made("unheard", add_special_tokens=False).input_ids == [config["ids"]["unk_token"]]
    padded = made([tokenizers.text(ids)], padding="max_length", max_length=8).input_ids[0]
    assert padded == [254, *ids, 255, 1, 1, 1]


@pytest.mark.parametrize(
    "encoder", [{}, {"vocab_size": 64, "eos_token_id": 49407}, {"eos_token_id": 1, "pad_token_id": 1}]
)
def test_special_ids_are_apart_and_in_the_vocabulary(encoder: dict) -> None:
    config = tokenizers.config_for(encoder)
    ids = list(config["ids"].values())
    assert len(set(ids)) == 4 and all(0 <= i < config["vocabulary"] for i in ids)


def test_inputs_follow_the_task() -> None:
    pytest.importorskip("diffusers")
    from assay_runner.subjects.diffusion import components, release

    def names(cls: str, task: str) -> list[str]:
        found = release.find(cls)
        made = [part.name for part in components.read(found)]
        return [spec["name"] for spec in asking.inputs(components.accepted(found), made, task, 32)]

    assert names("FluxKontextPipeline", "text-to-image") == ["prompt", "noise"]
    assert names("FluxKontextPipeline", "image-to-image") == ["prompt", "image", "noise"]
    assert names("StableDiffusionInpaintPipeline", "inpainting") == ["prompt", "image", "mask_image", "noise"]
    assert names("StableDiffusionControlNetPipeline", "text-to-image") == ["prompt", "image", "noise"]
    assert names("DDPMPipeline", "unconditional-image-generation") == ["noise"]


def test_types_and_tasks() -> None:
    pytest.importorskip("diffusers")
    from transformers.models.auto.configuration_auto import CONFIG_MAPPING_NAMES

    heads = {(head.type, head.task): head.cls.__name__ for head in reversed(tasks.heads())}
    assert heads["stable-diffusion", "inpainting"] == "StableDiffusionInpaintPipeline"
    assert heads["ddpm", "unconditional-image-generation"] == "DDPMPipeline"
    assert heads["cogvideo", "image-to-video"] == "CogVideoXImageToVideoPipeline"
    assert heads["stable-audio", "text-to-audio"] == "StableAudioPipeline"
    known = {name.replace("-", "_") for name in CONFIG_MAPPING_NAMES}
    assert not known & {head.type.replace("-", "_") for head in tasks.heads()}, "a name means one thing"


@pytest.mark.parametrize(
    ("cls", "name"),
    [
        ("StableDiffusionUpscalePipeline", "stable-diffusion-upscale"),
        ("StableUnCLIPImg2ImgPipeline", "stable-un-clip-img2img"),
    ],
)
def test_own_name(cls: str, name: str) -> None:
    assert tasks.own_name(cls) == name


def test_catalogue() -> None:
    pytest.importorskip("diffusers")
    found = model_types.pipelines()
    rows_of = {row["type"]: row for row in found["types"]}
    assert len(rows_of) == len(found["types"]) > 150
    row = rows_of["stable-diffusion"]
    assert (row["library"], row["family"], row["pipeline"]) == ("diffusers", "diffusion", "diffusion")
    assert row["checkpoint"] == "stable-diffusion-v1-5/stable-diffusion-v1-5" and row["priority"] == "high"
    assert [head["task"] for head in row["heads"]] == ["text-to-image", "image-to-image", "inpainting"]
    assert rows_of["ddpm"]["task"] == "unconditional-image-generation" and "inputs" not in rows_of["ddpm"]
    assert all(row["heads"][0]["class"] == row["class"] and row["priority"] for row in rows_of.values())


def test_refusals() -> None:
    pytest.importorskip("diffusers")
    with pytest.raises(
        NotInRelease, match=r"has no model type 'flux_of_2031', nor has diffusers [\d.]+ such a pipeline"
    ):
        making.tiny("flux_of_2031")
    with pytest.raises(BadRecipe, match="flux has no pipeline for task 'text-to-audio': it has text-to-image"):
        making.tiny("flux", "text-to-audio")


def test_without_diffusers(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    tasks.heads.cache_clear()
    monkeypatch.setitem(sys.modules, "diffusers", None)
    with pytest.raises(NotInRelease, match="diffusers is not installed") as caught:
        making.tiny("flux")
    assert isinstance(caught.value, ModuleNotFoundError), "a missing dependency"
    tasks.heads.cache_clear()

"""The catalogue: heads, modalities, families and priorities, by rule."""

from __future__ import annotations

import json

import pytest

pytest.importorskip("transformers")

from assay_runner.catalogue import model_types
from assay_runner.introspection import classes, families, heads, type_facts
from assay_runner.introspection.type_facts import Facts

EXPECTED = {
    # type: (class, task, family, a further family)
    "bert": ("BertForMaskedLM", "fill-mask", "encoder-only", ""),
    "t5": ("T5ForConditionalGeneration", "text2text-generation", "encoder-decoder", ""),
    "llama": ("LlamaForCausalLM", "text-generation", "decoder-only", ""),
    "clip": ("CLIPModel", "zero-shot-image-classification", "vision-text", ""),
    "vit": ("ViTForImageClassification", "image-classification", "vision", ""),
    "clap": ("ClapModel", "feature-extraction", "audio", ""),
    "whisper": ("WhisperForConditionalGeneration", "automatic-speech-recognition", "audio", ""),
    "wav2vec2": ("Wav2Vec2ForCTC", "automatic-speech-recognition", "audio", ""),
    "llava": ("LlavaForConditionalGeneration", "image-text-to-text", "vision-text", "multimodal"),
    "detr": ("DetrForObjectDetection", "object-detection", "vision", ""),
    "mixtral": ("MixtralForCausalLM", "text-generation", "mixture-of-experts", "decoder-only"),
    "mamba": ("MambaForCausalLM", "text-generation", "state-space", "decoder-only"),
    "jamba": ("JambaForCausalLM", "text-generation", "state-space", "mixture-of-experts"),
    "rag": ("RagModel", "feature-extraction", "rag", "encoder-decoder"),
    "vivit": ("VivitForVideoClassification", "video-classification", "video", ""),
    "patchtst": ("PatchTSTForClassification", "time-series-classification", "time-series", ""),
}


@pytest.mark.parametrize("model_type", EXPECTED)
def test_entry(model_type: str) -> None:
    if model_type not in classes.all_types():
        pytest.skip("not in this release")
    row = model_types.entry(type_facts.read(model_type))
    cls, task, family, further = EXPECTED[model_type]
    assert (row["class"], row["task"], row["family"]) == (cls, task, family)
    assert not further or further in row["families"]
    assert row["inputs"], "a model has inputs"


def test_documented_checkpoints() -> None:
    assert type_facts.read("bert").checkpoint == "google-bert/bert-base-uncased"
    assert type_facts.read("detr").checkpoint == "facebook/detr-resnet-50"


def test_every_head_is_listed_and_none_twice() -> None:
    found = classes.task_heads("bert")
    assert len(found) == len(set(found)) >= 8
    assert ("question-answering", "BertForQuestionAnswering") in found
    assert found[0][0] == "fill-mask"


def test_component_has_no_head() -> None:
    parts = [t for t in ("chameleon_vqgan", "blip_text_model") if t in classes.all_types()]
    for part in parts:
        row = model_types.entry(type_facts.read(part))
        assert row["component"] and "class" not in row


def test_every_mapping_of_the_release_has_a_task() -> None:
    """A new auto mapping must get a row, or its heads would be missing in silence."""
    from transformers.models.auto import modeling_auto

    known = {mapping for mapping, _ in heads.HEADS}
    names = {n for n in dir(modeling_auto) if n.startswith("MODEL_") and n.endswith("_NAMES")}
    assert names - known <= {"MODEL_WITH_LM_HEAD_MAPPING_NAMES"}


def test_families_have_a_pipeline() -> None:
    named = {name for name, _ in families.FAMILIES} | {families.OTHER}
    assert named == set(families.PIPELINES)  # none without a rule, none that nobody shows
    assert len(set(families.PIPELINES.values()) - {""}) == 9


def test_priorities() -> None:
    def made(**more: object) -> Facts:
        return Facts(**{"type": "x", "config_class": "X", "heads": [("text-generation", "X")], "auto": True, **more})

    assert families.priority_of(made(type="bert", heads=[], auto=False)) == "high"
    assert families.priority_of(made()) == "medium"
    assert families.priority_of(made(auto=False)) == "low"
    assert families.priority_of(made(heads=[("feature-extraction", "X")])) == "low"
    many = [(task, "X") for task in ("fill-mask", "a", "b", "c", "d")]
    assert families.priority_of(made(heads=many)) == "high"


def test_a_part_does_not_inherit_the_whole_models_modalities() -> None:
    if "gemma4_vision" not in classes.all_types():
        pytest.skip("not in this release")
    assert type_facts.read("gemma4_vision").modalities <= {"image", "video"}


def test_same_bytes_again(tmp_path) -> None:
    for name in ("one", "two"):
        assert model_types.main(["--types", "vit", "bert", "rag", "--out", str(tmp_path / name)]) == 0
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()
    assert [row["type"] for row in json.loads((tmp_path / "one").read_text())["types"]] == ["bert", "rag", "vit"]


class Heard:
    """Keeps what a job answers."""

    def data(self, data: dict) -> None:
        self.answer = data


def test_answer() -> None:
    heard = Heard()
    model_types.answer({"kind": "catalog", "options": {"types": ["bert"]}}, heard)
    assert heard.answer["types"][0]["type"] == "bert"


def test_a_name_left_open_is_no_checkpoint() -> None:
    """Examples that write from_pretrained("...") name no checkpoint; the next one that names one counts."""
    from assay_runner.introspection import type_facts

    class Config:
        """Nothing."""

    class Model:
        def forward(self) -> None:
            """>>> Model.from_pretrained("...")"""

    class Named:
        def forward(self) -> None:
            """>>> Model.from_pretrained("...")
            >>> Tokenizer.from_pretrained("owner/name-1.0")"""

    assert type_facts.checkpoint_of(Config, Model) == ""
    assert type_facts.checkpoint_of(Config, Named) == "owner/name-1.0"

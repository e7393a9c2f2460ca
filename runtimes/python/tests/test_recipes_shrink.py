"""Every rule of the shrinker, by an example of what it is for."""

from __future__ import annotations

import pytest

pytest.importorskip("transformers")

from assay_runner.shrink import LADDER, images, layers, relations, shrink
from assay_runner.shrink.rules import NUMBERS, Node, small_number
from assay_runner.shrink.tokens import TokenIds, is_token

SMALL = LADDER[0]
# A row of the table, found by a name it matches: (default, small).
EXAMPLES = {
    "num_experts_per_tok": (8, 2),
    "n_routed_experts": (256, 4),
    "n_group": (8, 2),
    "topk_group": (4, 1),
    "num_nextn_predict_layers": (1, 0),
    "first_k_dense_replace": (3, 1),
    "expert_layer_period": (8, 2),
    "vocab_size": (30522, 256),
    "index_topk": (2048, 16),
    "index_kpool": (8, 4),
    "sliding_window": (4096, 8),
    "max_position_embeddings": (131072, 512),
    "max_source_positions": (1500, 100),
    "num_time_features": (0, 2),
    "num_queries": (100, 8),
    "patch_embed_hidden_size": (96, 96),
    "upsample_initial_channel": (1536, 128),
    "rotary_dim": (64, 8),
    "qk_nope_head_dim": (128, 16),
    "qk_rope_head_dim": (64, 8),
    "qk_head_dim": (192, 24),
    "q_lora_rank": (1536, 32),
    "num_key_value_heads": (8, 2),
    "head_dim": (128, 16),
    "num_attention_heads": (32, 4),
    "intermediate_size": (11008, 128),
    "hidden_size": (4096, 64),
}


def test_every_row_has_an_example_and_a_reason() -> None:
    rows = [next(i for i, rule in enumerate(NUMBERS) if rule.names.fullmatch(name)) for name in EXAMPLES]
    assert sorted(rows) == list(range(len(NUMBERS)))
    assert all(rule.why for rule in NUMBERS)


@pytest.mark.parametrize("name", EXAMPLES)
def test_number(name: str) -> None:
    default, small = EXAMPLES[name]
    assert small_number(name, default, SMALL.aspects, Node({})) == small
    assert small_number(name, default, frozenset(), Node({})) == default


def test_heads_that_equal_kv_heads_still_do() -> None:
    small = shrink({"num_attention_heads": 32, "num_key_value_heads": 32, "hidden_size": 4096}, SMALL)
    assert (small["num_attention_heads"], small["num_key_value_heads"]) == (4, 4)


def test_grouped_attention_stays_grouped() -> None:
    small = shrink({"num_attention_heads": 32, "num_key_value_heads": 8, "hidden_size": 4096}, SMALL)
    assert (small["num_attention_heads"], small["num_key_value_heads"]) == (4, 2)


def test_stages_keep_their_widths() -> None:
    small = shrink({"depths": [2, 2, 18, 2], "hidden_sizes": [96, 192, 384, 768], "hidden_size": 768}, SMALL)
    assert small == {"depths": [1, 1, 1, 1], "hidden_sizes": [96, 192, 384, 768], "hidden_size": 768}


def test_one_layer_of_each_kind() -> None:
    kinds = ["linear", "linear", "full"] * 4
    small = shrink({"num_hidden_layers": 12, "layer_types": kinds, "mlp_only_layers": [0, 11]}, SMALL)
    assert small == {"num_hidden_layers": 2, "layer_types": ["linear", "full"], "mlp_only_layers": [0, 1]}


def test_as_many_layers_as_are_tapped() -> None:
    small = shrink({"num_hidden_layers": 12, "out_indices": [3, 5, 7, 11]}, SMALL)
    assert small == {"num_hidden_layers": 4, "out_indices": [1, 2, 3, 4]}


def test_feature_layers_exist() -> None:
    assert layers.shrink_lists("vision_feature_layer", -2, layers.plan({})) == -1
    assert layers.shrink_lists("vision_feature_layers", [3, -7], layers.plan({})) == [1, -2]


def test_equal_tokens_stay_equal() -> None:
    text = {"model_type": "x", "eos_token_id": 2, "pad_token_id": 151655}
    small = shrink({"image_token_id": 151655, "text_config": text}, SMALL)
    assert small["image_token_id"] == small["text_config"]["pad_token_id"] == 255
    assert small["text_config"]["eos_token_id"] == 2


def test_token_names() -> None:
    assert is_token("image_token_id") and is_token("decoder_start_token_id") and is_token("eos_token_ids")
    assert not is_token("num_experts_per_token") and not is_token("hidden_size")


def test_tokens_are_handed_out_downward() -> None:
    ids = TokenIds()
    assert ids.several([50000, 7, 50001, 50000, -1]) == [255, 7, 254, 255, -1]


def test_pictures_of_four_patches() -> None:
    scale = images.scale_of({"vision_config": {"image_size": 336, "patch_size": 14}})
    assert scale == images.Scale(6.0, 56)
    assert images.shrink_extent("image_size", 336, 14, scale) == 56
    assert images.shrink_extent("image_seq_length", 576, 14, scale) == 16
    assert images.shrink_extent("image_grid_pinpoints", [[336, 672]], None, scale) == [[56, 56]]
    assert images.scale_of({"hidden_size": 64}) is None


def test_rotary_sections_add_up() -> None:
    small = {"head_dim": 16, "rope_parameters": {"mrope_section": [16, 24, 24], "rope_theta": 1e6}}
    relations.repair(small, {})
    assert sum(small["rope_parameters"]["mrope_section"]) == 8


def test_state_heads_make_the_inner_width() -> None:
    small = {"num_heads": 4, "head_dim": 64, "expand": 2, "n_groups": 8}
    relations.repair(small, {})
    assert small == {"num_heads": 8, "head_dim": 16, "expand": 2, "n_groups": 2}


def test_latent_heads_are_their_parts() -> None:
    default = {"head_dim": 192, "qk_rope_head_dim": 64, "qk_nope_head_dim": 128}
    assert shrink(default, SMALL)["head_dim"] == 24


def test_open_values_are_filled() -> None:
    small = shrink({"head_dim": None, "pad_token_id": None, "image_token_id": None, "name": None}, SMALL)
    assert small == {"head_dim": 16, "pad_token_id": 0, "image_token_id": 255, "name": None}


def test_timm_backbones_stay_timm() -> None:
    backbone = {"model_type": "timm_backbone", "backbone": "resnet50", "out_indices": [1, 2, 3, 4]}
    small = shrink({"backbone_config": backbone}, SMALL)["backbone_config"]
    assert small == {**backbone, "backbone": "test_resnet"}


def test_last_rung_is_the_default() -> None:
    assert shrink({"hidden_size": 4096}, LADDER[-1]) == {}

"""Every rule of the shrinker, by an example of what it is for."""

from __future__ import annotations

import pytest

pytest.importorskip("transformers")

from assay_runner.subjects.shrinking import LADDER, images, layers, relations, shrink, timm
from assay_runner.subjects.shrinking.rules import FRACTIONS, NUMBERS, Node, small_fraction, small_number
from assay_runner.subjects.shrinking.tokens import TokenIds, is_token

SMALL = LADDER[0]
# A row of the table, found by a name it matches: (default, small).
EXAMPLES = {
    "num_experts_per_tok": (8, 2),
    "n_routed_experts": (256, 4),
    "n_group": (8, 2),
    "topk_group": (4, 1),
    "num_nextn_predict_layers": (1, 0),
    "first_k_dense_replace": (3, 1),
    "num_self_attends_per_block": (26, 2),
    "expert_layer_period": (8, 2),
    "vocab_size": (30522, 256),
    "index_topk": (2048, 16),
    "index_kpool": (8, 4),
    "sliding_window": (4096, 8),
    "max_position_embeddings": (131072, 512),
    "max_text_length": (500, 8),
    "max_text_len": (256, 16),
    "window_size": (15, 15),
    "max_source_positions": (1500, 100),
    "num_time_features": (0, 2),
    "num_queries": (100, 8),
    "fill_hole_area": (16, 0),
    "hotstart_delay": (15, 0),
    "multimask_min_pt_num": (0, 1),
    "num_latents": (256, 8),
    "memory_encoder_output_channels": (64, 64),
    "base_channels": (128, 32),
    "num_pos_feats": (128, 32),
    "nemo_conv_channels": (1024, 64),
    "coordinate_size": (128, 12),
    "shape_size": (128, 8),
    "patch_embed_hidden_size": (96, 96),
    "encoder_hidden_size": (768, 64),
    "num_filters": (32, 32),
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


TIMM = {
    "vit_pe_core_large_patch14_336": ("vit_pe_core_large_patch14_336", 64),
    "fastvit_mci3": ("fastvit_mci3", [32, 32, 64, 64, 64]),
    "mobilenetv5_300m_enc": ("mobilenetv5_base", None),
}


@pytest.mark.parametrize("name", TIMM)
def test_timm_models_take_small_sizes(name: str) -> None:
    config = {"model_type": "timm_wrapper", "architecture": name, "model_args": {"inference_mode": True}}
    small = shrink({"vision_config": config}, SMALL)["vision_config"]
    arguments = small["model_args"]
    assert (small["architecture"], arguments.get("embed_dims", arguments.get("embed_dim"))) == TIMM[name]
    assert arguments["inference_mode"] is True


def test_timm_miniatures_have_reasons() -> None:
    assert all(row.why for row in timm.MINIATURES)
    unknown = {"model_type": "timm_wrapper", "architecture": "no_such_model"}
    assert timm.shrink(unknown) == unknown


def test_fractions_have_reasons_and_bounds() -> None:
    assert small_fraction("initializer_range", 1e-10, SMALL.aspects) == 0.02
    assert small_fraction("initializer_range", 1.0, SMALL.aspects) == 1.0
    assert small_fraction("depth_coefficient", 3.1, SMALL.aspects) == 1.0
    assert small_fraction("depth_coefficient", 3.1, frozenset()) == 3.1
    assert small_fraction("assoc_iou_thresh", 0.1, SMALL.aspects) == 0.0
    assert small_fraction("dynamic_multimask_stability_thresh", 0.98, SMALL.aspects) == 0.0
    assert all(row.why for row in FRACTIONS)


def test_a_model_is_wider_than_what_it_remembers() -> None:
    memory = {"memory_encoder_output_channels": 64, "mask_decoder_config": {"hidden_size": 256}}
    small = shrink({"detector_config": {"hidden_size": 1024}, "tracker_config": memory}, SMALL)
    assert small["tracker_config"]["memory_encoder_output_channels"] == 64
    assert small["tracker_config"]["mask_decoder_config"]["hidden_size"] == 128
    assert small["detector_config"]["hidden_size"] == 128


def test_windows_of_patches_become_small_and_windows_of_pixels_stay() -> None:
    assert small_number("window_size", 7, SMALL.aspects, Node({"patch_size": 4})) == 2
    assert small_number("window_size", 112, SMALL.aspects, Node({"patch_size": 14, "spatial_merge_size": 2})) == 112


def test_stages_end_in_two_cells() -> None:
    staged = {"image_size": 224, "patch_size": 4, "depths": [2, 2, 6, 2]}
    assert images.scale_of(staged) == images.Scale(3.5, 64)
    assert images.scale_of({"image_size": 256, "patch_size": 2, "output_stride": 32}) == images.Scale(4.0, 64)
    assert images.scale_of({**staged, "image_size": 64, "patch_size": 1}) == images.Scale(16.0, 4)
    assert images.scale_of({"vq_config": {"resolution": 512}}) == images.Scale(8.0)


def test_input_size_of_sounds_stays() -> None:
    scale = images.Scale(8.0, 56)
    assert images.shrink_extent("input_size", 80, None, scale) == 80
    assert images.shrink_extent("input_size", 224, 16, images.Scale(3.5, 64)) == 64


def test_tapped_layers_are_counted_from_where_their_model_counts() -> None:
    small = shrink({"num_hidden_layers": 12, "backbone_out_indices": [2, 5, 8, 11]}, SMALL)
    assert small == {"num_hidden_layers": 4, "backbone_out_indices": [0, 1, 2, 3]}


def test_axes_make_the_width() -> None:
    small = shrink({"hidden_size": 256, "axial_pos_embds_dim": [64, 192]}, SMALL)
    assert small == {"hidden_size": 64, "axial_pos_embds_dim": [16, 48]}


def test_shuffled_pixels_make_the_adapter() -> None:
    small = {"pixel_shuffle_ratio": 0.5, "intermediate_size": 128}
    relations.repair(small, {})
    assert small["intermediate_size"] == 256


def test_codecs_start_narrow() -> None:
    small = shrink({"encoder_hidden_size": 48, "num_filters": 32, "downsampling_ratios": [2, 4, 8]}, SMALL)
    assert small == {"encoder_hidden_size": 8, "num_filters": 4, "downsampling_ratios": [2, 4, 8]}


def test_latent_heads_turn_in_part() -> None:
    default = {"head_dim": 128, "qk_rope_head_dim": 64, "qk_nope_head_dim": 64}
    small = shrink({**default, "rope_parameters": {"partial_rotary_factor": 0.5}}, SMALL)
    assert small["head_dim"] * small["rope_parameters"]["partial_rotary_factor"] == small["qk_rope_head_dim"]


def test_last_rung_is_the_default() -> None:
    assert shrink({"hidden_size": 4096}, LADDER[-1]) == {}

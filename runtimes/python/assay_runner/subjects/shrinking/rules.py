"""The table of rules for single whole numbers. The first row whose pattern matches a name decides its value."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass, field

from . import ladder

# The small sizes. Four heads of sixteen make the width; a power of two keeps every divisibility rule happy.
WIDTH, FEEDFORWARD, HEADS, KV_HEADS, HEAD = 64, 128, 4, 2, 16
VOCABULARY, POSITIONS, WINDOW, QUERIES = 256, 512, 8, 8
EXPERTS, CHOSEN = 4, 2


@dataclass
class Node:
    """One configuration dictionary on its way to being small: what a rule may look at."""

    values: dict
    hierarchical: bool = False  # stages with widths of their own
    heads: frozenset[int] = field(default_factory=frozenset)  # the default numbers of attention heads
    width: int = WIDTH  # the small width of the whole tree


Shrinker = Callable[[int, Node], int]


@dataclass(frozen=True)
class Rule:
    """A row: the names it decides, the aspect it belongs to, the small value, and why."""

    names: re.Pattern[str]
    aspect: str
    small: Shrinker
    why: str
    usual: int | None = None  # what stands for an open value, where one may be given

    def applies(self, aspects: frozenset[str], node: Node) -> bool:
        """Whether this row decides on a rung. Stages keep their widths: they are tied to each other."""
        tied = node.hierarchical and self.aspect in (ladder.WIDTHS, ladder.FEEDFORWARD)
        return self.aspect in aspects and not tied


def most(limit: int) -> Shrinker:
    """At most the limit."""
    return lambda value, node: min(value, limit)


def exactly(value: int) -> Shrinker:
    """Always this value."""
    return lambda _, node: value


def kv_heads(value: int, node: Node) -> int:
    """As many as heads where the default has as many, else fewer, so that grouped attention stays grouped."""
    if value <= 1:
        return value
    return min(value, HEADS if value in node.heads else KV_HEADS)


def width(value: int, node: Node) -> int:
    """The small width; numbers below nine are counts, not widths."""
    return node.width if value > 8 else value


def feedforward(value: int, node: Node) -> int:
    """At most the small size; zero and below mean that there is none, or that it is derived."""
    return min(value, FEEDFORWARD) if value > 0 else value


def picture_window(value: int, node: Node) -> int:
    """Two patches for models of pictures. Windows over sound or text, and those counted in pixels, stay."""
    patches = "patch_size" in node.values and "spatial_merge_size" not in node.values
    return min(value, 2) if patches else value


def codec_width(value: int, node: Node) -> int:
    """The first channels of a codec, which every stage doubles; the small width in all other models."""
    return min(value, 8) if "downsampling_ratios" in node.values else min(value, WIDTH)


def codec_filters(value: int, node: Node) -> int:
    """The same under another name; codecs that do not list their stages so have few of them and keep it."""
    return min(value, 4) if "downsampling_ratios" in node.values else value


def row(names: str, aspect: str, small: Shrinker, why: str, usual: int | None = None) -> Rule:
    """One row of the table."""
    return Rule(re.compile(names), aspect, small, why, usual)


HEAD_COUNTS = r"(\w+_)?(num_attention_heads|num_heads|n_heads?|attention_heads|heads)|num_(\w+_)?attention_heads"

NUMBERS: tuple[Rule, ...] = (
    row(
        r"num_experts_per_tok(en)?|moe_topk|moe_top_k|top_k_experts|moe_k|num_selected_experts|router_topk"
        r"|moe_num_active_experts|experts_per_token",
        ladder.EXPERTS, most(CHOSEN), "a router that chooses fewer experts than there are",
    ),
    row(
        r"n_routed_experts|num_experts|num_local_experts|moe_num_experts|n_experts|zero_expert_num|num_routed_experts",
        ladder.EXPERTS, most(EXPERTS), "enough experts for a choice",
    ),
    row(r"n_group|num_expert_group|moe_num_expert_group", ladder.EXPERTS, most(2), "experts divide into groups"),
    row(r"topk_group", ladder.EXPERTS, exactly(1), "fewer groups chosen than there are"),
    row(
        r"num_nextn_predict_layers|mtp_num_hidden_layers|num_kv_shared_layers|merge_index",
        ladder.LAYERS, exactly(0), "counts layers that a shallow model does not have",
    ),
    row(
        r"first_k_dense_replace|num_dense_layers|moe_layer_start_index|first_moe_layer|\w+_layer_offset",
        ladder.LAYERS, most(1), "one plain layer first, then the special kind",
    ),
    row(r"num_self_attends_per_block", ladder.LAYERS, most(2), "layers within the one block of a stack"),
    row(r"\w+_layer_period|\w+_sparse_step", ladder.LAYERS, most(2), "both kinds of layer within two"),
    row(r"(?!type_|token_type)(\w+_)?vocab_size(_\w+)?|n_tokens|num_tokens|\w+_(vocab_len|group_vocab)",
        ladder.WORDS, most(VOCABULARY), "embeddings would be most of a tiny model"),
    row(r"index_topk", ladder.WORDS, most(16), "sparse attention keeps fewer keys than the sequence has"),
    row(r"index_kpool", ladder.WORDS, most(4), "pools of keys fit into a short sequence"),
    row(r"sliding_window|attention_chunk_size|attention_window", ladder.WORDS, most(WINDOW),
        "a window shorter than the sequence, so that it matters"),
    row(
        r"max_position_embeddings|n_positions|n_ctx|block_size|max_seq_len|model_max_length|max_sequence_length"
        r"|max_target_positions|seq_length|max_length|context_length",
        ladder.WORDS, most(POSITIONS), "position tables as long as anyone asks a tiny model for",
    ),
    row(r"max_text_length", ladder.WORDS, most(8), "forward itself generates this many steps"),
    row(r"max_text_len", ladder.WORDS, most(16), "scores of words beyond the text are minus infinity by design"),
    row(r"window_size", ladder.EXTENTS, picture_window, "windows that fit into the smallest map of a small picture"),
    row(r"max_source_positions", ladder.EXTENTS, most(100), "two seconds of sound instead of thirty"),
    row(r"num_time_features", ladder.EXTENTS, lambda value, node: value or 2,
        "a clock beside the series: with none, its default, an input would have no elements"),
    row(r"num_queries|two_stage_num_proposals|latent_query_num", ladder.EXTENTS, most(QUERIES),
        "a few objects are enough"),
    row(r"fill_hole_area", ladder.EXTENTS, exactly(0), "holes of that many pixels would be most of a small mask"),
    row(r"hotstart_delay", ladder.EXTENTS, exactly(0), "no object is dropped again for looking like another"),
    row(r"multimask_min_pt_num", ladder.EXTENTS, lambda value, node: max(value, 1),
        "one mask where no point is given: which of several is best would be a matter of rounding, frame after frame"),
    row(r"(perceiver_resampler_)?num_latents", ladder.EXTENTS, most(QUERIES), "a few latents hold a small input"),
    row(r"memory_encoder_output_channels|perceiver_resampler_(hidden_size|attention_head_dim)", ladder.WIDTHS,
        lambda value, node: value, "what is remembered of a frame has a width that attention's code fixes"),
    row(r"base_channels", ladder.WIDTHS, most(32), "convolutions of image tokenizers: a channel per group of a norm"),
    row(r"num_pos_feats", ladder.WIDTHS, exactly(WIDTH // 2), "sines and cosines of a place make the width together"),
    row(r"ext_pw_out_channel|depthwise_separable_out_channel|nemo_conv_channels", ladder.WIDTHS, width,
        "convolutions between layers of that width"),
    row(r"coordinate_size", ladder.WIDTHS, exactly(12), "layout embeddings: four coordinates and two sides …"),
    row(r"shape_size", ladder.WIDTHS, exactly(8), "… together make the width"),
    row(r"patch_embed_hidden_size|model_in_dim", ladder.WIDTHS, lambda value, node: value,
        "fixed by what comes before: the patch embedding, the mel bins of a spectrogram"),
    row(r"encoder_hidden_size", ladder.WIDTHS, codec_width, "a codec's stages double it"),
    row(r"num_filters", ladder.EXTENTS, codec_filters,
        "channels of a codec, doubled at each of its stages; not one of the widths that lists of stages tie"),
    row(r"upsample_initial_channel", ladder.WIDTHS, most(128), "channels of a vocoder, halved at each of its stages"),
    row(r"rotary_dim", ladder.WIDTHS, most(HEAD // 2), "half of a small head turns"),
    row(r"qk_nope_head_dim|v_head_dim", ladder.WIDTHS, most(HEAD), "latent attention: a small head"),
    row(r"qk_rope_head_dim", ladder.WIDTHS, most(HEAD // 2), "latent attention: half of it turns"),
    row(r"qk_head_dim", ladder.WIDTHS, exactly(HEAD + HEAD // 2), "latent attention: both parts together"),
    row(r"q_lora_rank|kv_lora_rank", ladder.WIDTHS, most(32), "latent attention: rank below the width"),
    row(r"\w*(key_value_heads|kv_heads|num_kv|num_key_heads|multi_query_group_num|num_attention_groups)\w*",
        ladder.WIDTHS, kv_heads, "grouped attention stays grouped", HEADS),
    row(r"(\w+_)?(head_dim|head_size|d_kv|attention_head_size|dim_head|d_head|kv_channels|attention_key_size)",
        ladder.WIDTHS, most(HEAD), "heads times head size is the width", HEAD),
    row(HEAD_COUNTS, ladder.WIDTHS, most(HEADS), "a few heads", HEADS),
    row(
        r"\w*(intermediate_size|ffn_dim|ff_dim|n_inner|mlp_dim|ffn_hidden_size|dim_feedforward|feedforward_dim"
        r"|ffn_intermediate|inner_dim|intermediate_dim|mlp_hidden_size|feed_forward_hidden_size|ffn_embed_dim"
        r"|inner_hidden_size)\w*|d_ff|d_inner",
        ladder.FEEDFORWARD, feedforward, "twice the width", FEEDFORWARD,
    ),
    row(
        r"(\w+_)?(hidden_size|hidden_dim|embed_dim|d_model|n_embd|d_latents|projection_dim|embedding_size|emb_dim|model_dim"
        r"|hidden_channels|d_embed|embedding_dim|projection_size|project_dim|pooler_output_size|d_text|d_vision"
        r"|lru_width|text_dim|dim|hidden_features|decoder_dim|encoder_dim|mask_feature_size|conv_dim|feature_size"
        r"|out_dim|output_dim|input_dim|lm_dim|output_proj_dims|output_channels|post_conv_in_channels|bottleneck_features)"
        r"|hidden_size_global|upsample_groups|mamba_d_ssm|\w+_hidden_dimension|\w+_out_channel",
        ladder.WIDTHS, width, "one small width everywhere, so that projections between parts fit", WIDTH,
    ),
)  # fmt: skip


@dataclass(frozen=True)
class Fraction:
    """A row for values that are not whole: the names it decides, the aspect, the least and the most, and why."""

    names: re.Pattern[str]
    aspect: str
    least: float
    most: float
    why: str


FRACTIONS: tuple[Fraction, ...] = (
    Fraction(re.compile(r"initializer_range|init_std|memory_fuser_layer_scale_init_value"), ladder.WIDTHS,
             0.02, math.inf,
             "some start near zero, since only their checkpoints matter; such a model would be dead"),
    Fraction(re.compile(r"score_threshold_detection|det_nms_thresh|assoc_iou_thresh"), ladder.EXTENTS, 0.0, 0.0,
             "scores of drawn weights say nothing: every query is an object on the first frame, and none comes later"),
    Fraction(re.compile(r"dynamic_multimask_stability_thresh"), ladder.EXTENTS, 0.0, 0.0,
             "likewise, every mask of drawn weights is unstable, and another would be chosen in its place"),
    Fraction(re.compile(r"depth_coefficient"), ladder.LAYERS, 0.0, 1.0, "no more blocks than the lists of blocks say"),
)  # fmt: skip


def small_fraction(name: str, value: float, aspects: frozenset[str]) -> float:
    """The value that a number which is not whole has in the small configuration: by its row, else its own."""
    rule = next((rule for rule in FRACTIONS if rule.names.fullmatch(name) and rule.aspect in aspects), None)
    return min(max(value, rule.least), rule.most) if rule else value


def rule_for(name: str) -> Rule | None:
    """The row that decides values of this name."""
    return next((rule for rule in NUMBERS if rule.names.fullmatch(name)), None)


def counts_heads(name: str) -> bool:
    """Whether the name counts attention heads; key-value heads have a row of their own, which comes first."""
    rule = rule_for(name)
    return rule is not None and rule.names.pattern == HEAD_COUNTS


def small_number(name: str, value: int, aspects: frozenset[str], node: Node) -> int:
    """The value that a number has in the small configuration: by its row, else its own."""
    rule = rule_for(name)
    return rule.small(value, node) if rule and rule.applies(aspects, node) else value

"""Reads sizes out of a configuration and its sub-configurations."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from transformers import PretrainedConfig

from assay_runner.subjects.shrinking.layers import whole

VISION = ("vision", "image", "visual", "backbone", "encoder", "vit")
AUDIO = ("audio", "speech", "encoder", "acoustic")
TEXT = ("text", "decoder", "language", "llm", "lm", "thinker", "vlm", "question", "generator")


@dataclass(frozen=True)
class Size:
    """A number that shapes need: where it stands in configurations, and what it is where none says."""

    names: tuple[str, ...]
    prefer: tuple[str, ...] = ()
    default: int = 0


# The letters that shapes in ``layouts`` use.
SIZES: dict[str, Size] = {
    "C": Size(("num_channels", "in_channels", "in_chans", "input_channels", "image_channels"), VISION, 3),
    "P": Size(("model_patch_size", "patch_size", "patch_sizes"), VISION, 16),
    "HIGH": Size(("image_size",), ("high_res",), 1024),
    "T": Size(("temporal_patch_size", "patch_temporal"), VISION, 1),
    "F": Size(("num_frames", "frames_per_clip", "num_image_with_embedding"), VISION, 4),
    "TILES": Size(("max_num_tiles",), VISION, 2),
    "M": Size(
        ("num_mel_bins", "n_mels", "input_feat_per_channel", "feature_size", "feat_in", "mel_dim",
         "feature_projection_input_dim", "num_mels", "mel_bins", "input_feat_size", "model_in_dim", "d_mel",
         "n_mel_channels", "n_mel_bins", "input_size", "input_dim"),
        AUDIO, 80,
    ),
    "STACK": Size(("num_stacked_frames",), AUDIO, 2),
    "NOISE": Size(("model_in_channels",), (), 64),
    "POSITIONS": Size(("max_source_positions",), AUDIO, 48),
    "SPECTRUM": Size(("max_length", "spectrogram_length"), AUDIO, 100),
    "D": Size(("hidden_size", "d_model", "embed_dim", "n_embd", "dim"), (), 64),
    "CROSS": Size(("encoder_hidden_size", "cross_hidden_size", "cross_attention_hidden_size", "vision_hidden_size")),
    "BOOKS": Size(("num_codebooks", "n_codebooks", "num_code_groups", "codebooks", "num_channels")),
    "QUANTIZERS": Size(("num_quantizers", "n_codebooks", "num_codebooks"), (), 4),
    "CONTEXT": Size(("context_length",), (), 32),
    "AHEAD": Size(("prediction_length", "horizon_length"), (), 8),
    "SERIES": Size(("num_input_channels", "input_size"), (), 1),
    "CLOCK": Size(("num_time_features",)),
    "FEATURES": Size(("visual_feat_dim", "visual_embedding_dim"), (), 64),
    "BOX": Size(("visual_pos_dim",), (), 4),
    "SPEAKER": Size(("speaker_embedding_dim", "speaker_embed_dim"), (), 512),
    "VOICE": Size(("enc_emb_dim",), (), 192),
    "STATE": Size(("state_dim", "max_state_dim"), (), 4),
    "ACTION": Size(("act_dim", "max_action_dim"), (), 4),
    "CHUNK": Size(("chunk_size",), (), 4),
    "TASK": Size(("task_seq_len",), (), 77),
    "CODE": Size(("latent_channels",), (), 4),
    "LATENT": Size(("latent_query_num",), (), 4),
    "DEPTH": Size(("max_depth",), (), 50),
    "DOCS": Size(("n_docs",), (), 5),
    "CANVAS": Size(("canvas_length",), (), 0),
}  # fmt: skip
SIDE_NAMES = ("image_size", "img_size", "crop_size", "resolution", "input_size")
VOCABULARY_NAMES = (
    "vocab_size", "src_vocab_size", "encoder_vocab_size", "text_vocab_size", "input_vocab_size",
)  # fmt: skip


def parts(config: Any) -> Iterator[tuple[str, PretrainedConfig]]:
    """The sub-configurations with their names."""
    for name, value in vars(config).items():
        if isinstance(value, PretrainedConfig):
            yield name, value


def find(config: Any, names: Sequence[str], prefer: Sequence[str] = (), depth: int = 0) -> Any:
    """The first value of these names: in preferred sub-configurations, then here, then anywhere below.

    Sizes that a configuration hands to timm count as its own.
    """
    below = list(parts(config)) if depth < 4 else []
    for word in prefer:
        for name, part in below:
            if word in name and (value := find(part, names, prefer, depth + 1)) is not None:
                return value
    arguments = getattr(config, "model_args", None) or {}
    for name in names:
        value = getattr(config, name, None) or arguments.get(name)
        if whole(value) or (isinstance(value, (list, tuple)) and value and isinstance(value[0], (int, float))):
            return value
    for _, part in below:
        if (value := find(part, names, prefer, depth + 1)) is not None:
            return value
    return None


def number(config: Any, size: Size) -> int:
    """A size as one whole number; of a list its last, since stages end in the widest."""
    value = find(config, size.names, size.prefer)
    value = value[-1] if isinstance(value, (list, tuple)) else value
    return value if whole(value) and value > 0 else size.default


def image_sides(config: Any, patch: int) -> tuple[int, int]:
    """Height and width of a picture; four patches where the configuration does not say."""
    value = find(config, SIDE_NAMES, VISION)
    if isinstance(value, (list, tuple)):
        sides = [int(side) for side in value][-2:]
        return (sides[0], sides[-1])
    side = value if whole(value) else (patch * 4 if patch > 8 else 64)
    return (side, side)


def views(config: Any, height: int, width: int) -> int:
    """How many pictures a picture becomes: itself, and the tiles of the best of the model's resolutions."""
    resolutions = getattr(config, "image_grid_pinpoints", None)
    if not resolutions:
        return 2
    from transformers.image_processing_utils import select_best_resolution

    best = select_best_resolution((height, width), resolutions)
    return 1 + (best[0] // height) * (best[1] // width)


def vocabulary(config: Any) -> int:
    """The number of words that text is drawn from: the smallest vocabulary that the text part names."""
    try:
        text = config.get_text_config()
    except (ValueError, AttributeError):
        text = config
    sizes = [getattr(text, "vocab_size", None), find(config, VOCABULARY_NAMES, TEXT)]
    return min((size for size in sizes if whole(size) and size > 0), default=64)


def sizes_of(config: Any) -> dict[str, int]:
    """Every letter with its value for this configuration."""
    found = {letter: number(config, size) for letter, size in SIZES.items()}
    found["CROSS"] = found["CROSS"] or found["D"]
    found["H"], found["W"] = image_sides(config, found["P"])
    found["L"] = 2 * found["POSITIONS"]
    found["VIEWS"] = views(config, found["H"], found["W"])
    lags = getattr(config, "lags_sequence", None)
    found["PAST"] = found["CONTEXT"] + (max(lags) if lags else 0)
    return found

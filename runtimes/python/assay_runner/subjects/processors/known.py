"""Differences from processors that are as they should be: rows of data, each with its reason."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Row:
    """Inputs of some types that are not as their processor gives them, and why."""

    types: tuple[str, ...]
    inputs: tuple[str, ...]
    why: str


_PADDED = "padded to a number of patches or frames that the class fixes; a recipe has few"
_FLATTENED = "a part: the whole model takes the pictures of all texts, or the frames of all videos, as one batch"
ROWS = (
    Row(("gemma4", "gemma4_unified", "gemma4_vision", "embedding_gemma2", "lfm2_vl", "molmo2", "molmo2_vision"),
        ("pixel_values", "image_position_ids", "pixel_position_ids", "pixel_attention_mask"), _PADDED),
    Row(("moss_transcribe_diarize", "moss_transcribe_diarize_audio"), ("input_features", "input_features_mask"),
        _PADDED),
    Row(("aria",), ("pixel_values",), "its class scales to 490 or 980 pixels and nothing else; a recipe's are small"),
    Row(("idefics2_vision", "idefics3_vision", "smolvlm_vision", "instructblipvideo_vision_model"), ("pixel_values",),
        _FLATTENED),
    Row(("idefics", "pi0", "colqwen2", "colmodernvbert", "xclip"), ("pixel_values", "pixel_attention_mask"),
        "the processor of all modalities gives the pictures, cameras, frames or patches of a text an axis"),
    Row(("paddleocr_vl_vision",), ("pixel_values",), "a part: the whole model adds an axis in front"),
    Row(("qwen2_5_omni_audio_encoder", "qwen3_omni_moe_audio_encoder"), ("input_features",),
        "a part: the whole model takes the padding out and puts all sounds in a row"),
    Row(("pe_video", "pe_video_encoder", "pe_audio_video", "pe_audio_video_encoder"), ("pixel_values_videos",),
        "its files, not its class, say whether bytes are scaled"),
    Row(("kyutai_speech_to_text",), ("input_ids",), "each step is a word and the codes of its sound"),
    Row(("phi4_multimodal",), ("audio_attention_mask",), "only with audio of several lengths; otherwise all ones"),
    Row(("aya_vision", "cohere2_vision", "internvl", "qianfan_ocr"), ("image_sizes",),
        "forward takes it and passes it on, and nothing looks at it"),
)  # fmt: skip


def reason(model_type: str, name: str) -> str:
    """Why an input of a type differs; empty when no row says."""
    return next((row.why for row in ROWS if model_type in row.types and name in row.inputs), "")

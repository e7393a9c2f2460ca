"""The parameters that models' forwards take, and the shapes each may have.

A shape's entries are numbers, the symbols of recipes (``batch``, ``seq``, ``image`` …)
or the letters of ``read.SIZES``. Several layouts of one parameter are tried in order;
``beside`` restricts one to forwards that also take one of the named parameters.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

Entry = int | str


@dataclass(frozen=True)
class Layout:
    """One way an input may look."""

    shape: tuple[Entry, ...]
    kind: str = "float"
    dtype: str = "float32"
    beside: tuple[str, ...] = ()  # only with one of these parameters; empty: always
    only: str = ""  # only when the class takes this modality and no picture
    high: str = ""  # ids are drawn below this; empty: below the vocabulary's reserved end
    value: Any = None
    place: tuple[Mapping[str, Entry], ...] = ()  # ids that stand at fixed places
    flat: bool = False  # a range that counts on from row to row
    grid: int = 0  # columns of a grid: the first two numbers of a patch are its row and column
    sets: Mapping[str, int] = field(default_factory=dict)  # letters that this layout decides
    needs: str = ""  # only where the configuration has a number for this letter


def floats(*shape: Entry, **more: Any) -> Layout:
    """Numbers between -1 and 1."""
    return Layout(shape, **more)


def ids(*shape: Entry, **more: Any) -> Layout:
    """Token ids or other whole numbers."""
    return Layout(shape, "ids", "int64", **more)


def ones(*shape: Entry, **more: Any) -> Layout:
    """A mask that hides nothing."""
    return Layout(shape, **{"kind": "ones", "dtype": "int64", **more})


def zeros(*shape: Entry, **more: Any) -> Layout:
    """A first segment, a first task."""
    return Layout(shape, **{"kind": "zeros", "dtype": "int64", **more})


def each(value: Any, dtype: str = "int64", **more: Any) -> Layout:
    """The same given value for every item of the batch."""
    return Layout((), "value", dtype, value=value, **more)


GRID = ("image_grid_thw", "grid_thw", "image_grid_hws", "image_grid_hw")
PACKED = ("spatial_shapes", "target_sizes", "image_position_ids", "pixel_position_ids")
POINTS = [[x, y] for y in range(4) for x in range(4)]

PIXELS = (
    floats("batch*16", "C*T*P*P", beside=GRID),
    floats("batch*16", "C*P*P", beside=GRID),
    floats("batch*16", "C", "P", "P", beside=GRID),
    floats("batch", 16, "C*T*P*P", beside=GRID),
    floats("batch", 1, "TILES", "C", "H", "W", beside=("aspect_ratio_ids",)),
    floats(1, "batch*16", "C", "P", "P", beside=("grid_thw",)),
    floats(1, "C", "P", "batch*16*P", beside=("target_sizes",)),
    floats("batch", 16, "C*T*P*P", beside=PACKED),
    floats("batch", 1, "C", "image", "image", beside=("image_attention_mask",)),
    floats("batch", "F", "C", "image", "image", only="video"),
    floats("batch", 2, "C", "image", "image", beside=("state",)),
    floats("batch", "C", "image", "image"),
    floats("batch", 1, "C", "image", "image", beside=("pixel_attention_mask", "image_sizes")),
    floats("batch", "VIEWS", "C", "image", "image", beside=("image_sizes",)),
    floats("batch", "F", "C", "image", "image"),
    floats("batch", 2, "C", "image", "image"),
    floats("batch", "C", "F", "image", "image"),
    floats("batch", 16, "C*P*P"),
    floats("batch*16", "C*P*P"),
    floats("batch*4", "T", "P", "P", "C"),
    floats("batch*F", "C", "image", "image"),
)
FEATURES = (
    floats("M", "batch*L", beside=("feature_lens",)),
    floats("batch", "M", "L"),
    floats("batch", "L", "M"),
    floats("batch", "L", "STACK*M"),
    floats("batch", 1, "L", "M", sets={"L": 1001}),  # ten seconds, as their extractor gives them
    floats("batch", "M", "L", sets={"L": 3000}),
    floats("batch", "L", "M", sets={"M": 128}),
    floats("batch", "M", "L", sets={"M": 128}),
    floats("batch", "L", "M", sets={"M": 160}),
)
WAVES = (
    floats("batch", "samples"),
    floats("batch", 1, 9600),
    floats("batch", "SPECTRUM", "M"),
    floats("batch", 32000),
    floats("batch", 1, 48000),
    floats("batch", "M", 100),
    floats("batch", 2, 9600),
)
WORDS = (
    ids("batch", "seq"),
    ids("batch", "seq", "BOOKS", needs="BOOKS"),
    ids("batch*BOOKS", "seq", needs="BOOKS"),
    ids("batch", "BOOKS", "seq", needs="BOOKS"),
)
STATES = (
    floats("batch*16", "C*T*P*P", beside=GRID),
    floats("batch", "seq", "D"),
    floats("batch*seq", "D"),
    floats("batch", "D", 64),
    floats("batch", "CODE", 4, 4, needs="CODE"),
    floats("batch", "C", "image", "image"),
)
SPECTROGRAM = (floats("batch", 50, "M"), floats("batch", "M", 50))
TARGETS = (
    ids("batch", "target"),
    ids("batch", "target", "BOOKS", needs="BOOKS"),
    ids("batch*BOOKS", "target", needs="BOOKS"),
)
MASK = (ones("batch", "seq"),)
SOUND_MASK = (ones("batch", "L"), ones("batch", "L", dtype="bool"))
TILE_SIZE = (each([["H", "W"]]),)
FOUR = (each([[4, 4]]),)
GRID_OF_ONE = (each([[1, 4, 4]]),)

PARAMETERS: dict[str, tuple[Layout, ...]] = {
    "input_ids": WORDS,
    "input_text_ids": WORDS,
    "inputs": (floats("batch", "samples", only="audio"), ids("batch", "seq")),
    "decoder_input_ids": TARGETS,
    "attention_mask": MASK,
    "input_mask": MASK,
    "decoder_input_values": (floats("batch", "target", "M"),),
    "decoder_attention_mask": (ones("batch", "target"),),
    "token_type_ids": (zeros("batch", "seq"),),
    "visual_token_type_ids": (zeros("batch", 6),),
    "bbox": (ids("batch", "seq", 4, high="20", place=({"id": 40, "at": 2, "count": 2},)),),
    "task_inputs": (ids("batch", "TASK"),),
    "pixel_values": PIXELS,
    "pixel_values_images": PIXELS,
    "image_pixel_values": PIXELS,
    "image": PIXELS,
    "high_res_pixel_values": (floats("batch", "C", "HIGH", "HIGH"),),
    "prompt_pixel_values": (floats("batch", "C", "image", "image"),),
    "prompt_masks": (floats("batch", "C", "image", "image"),),
    "pixel_values_videos": (
        floats("batch*16", "C*T*P*P", beside=("video_grid_thw",)),
        floats("batch", "F", "C", "image", "image"),
    ),
    "flattened_patches": (floats("batch", 16, "2+C*P*P", grid=4),),
    "image_grid_thw": GRID_OF_ONE,
    "grid_thw": GRID_OF_ONE,
    "video_grid_thw": GRID_OF_ONE,
    "image_grid_hws": FOUR,
    "image_grid_hw": FOUR,
    "spatial_shapes": FOUR,
    "target_sizes": FOUR,
    "tgt_sizes": FOUR,
    "image_sizes": TILE_SIZE,
    "image_position_ids": (each([POINTS]),),
    "pixel_position_ids": (each([POINTS]),),
    "aspect_ratio_ids": (ones("batch", 1),),
    "aspect_ratio_mask": (ones("batch", 1, "TILES"),),
    "cross_attention_mask": (ones("batch", "seq", 1, "TILES"),),
    "pixel_attention_mask": (
        ones("batch", 16, beside=PACKED),
        ones("batch", 2, dtype="bool", beside=("state",)),
    ),
    "image_embeds_position_mask": (ids("batch", "seq", high="1", place=({"id": 1, "at": 4, "count": "LATENT"},)),),
    "image_token_pooling": (Layout(("batch*4", 4), "range", "int64", flat=True),),
    "image_grids": (each([[2, 2, 0, 0]]),),
    "image_num_crops": (each([1]),),
    "images_per_sample": (each([1]),),
    "image_features": (floats("batch", 16, "FEATURES"), floats("batch", 16, "2*FEATURES")),
    "pooled_patches_idx": (Layout(("batch*4", 4), "range", "int64", flat=True),),
    "classes_input_ids": (ids("batch*2", "target"),),
    "classes_attention_mask": (ones("batch*2", "target"),),
    "tasks_input_ids": (ids("batch", "target"),),
    "tasks_attention_mask": (ones("batch", "target"),),
    "classes_structure": (each([2]),),
    "state": (floats("batch", "STATE"),),
    "lang_ids": (each([0]),),
    "noise": (floats("batch", "CHUNK", "ACTION"),),
    "timestep": (each([0.5], dtype="float32"),),
    "context": (floats("batch", "seq", "D"),),
    "image_attention_mask": (ones("batch", "seq", 1),),
    "merge_sizes": (each([1]),),
    "image_merge_sizes": (each([1]),),
    "input_features": FEATURES,
    "audio_input_features": FEATURES,
    "input_values": WAVES,
    "audio_values": WAVES,
    "spectrogram": SPECTROGRAM,
    "audio_mel": SPECTROGRAM,
    "noise_sequence": (floats("batch", "L", "NOISE"),),
    "mel_spectrogram": (floats("batch", "M", 8),),
    "audio_mel_mask": (zeros("batch", 50, dtype="bool"),),
    "audio_input_ids": (ids("batch", 50, "M", high="16"),),
    "protein_input_ids": (ids("batch", "target", high="20"),),
    "protein_attention_mask": (ones("batch", "target"),),
    "input_features_mask": SOUND_MASK,
    "feature_attention_mask": SOUND_MASK,
    "audio_attention_mask": SOUND_MASK,
    "feature_lens": (each(["L"]),),
    "aftercnn_lens": (each(["(L-1)//2+1"]),),
    "padding_mask": (ones("batch", "samples", dtype="bool"),),
    "code": (ids("batch", 24, high="16"),),
    "conditioning": (floats("batch", "VOICE"),),
    "reference_mel": (floats("batch", 48, "M"),),
    "speaker_embedding": (floats("batch", "SPEAKER"),),
    "speaker_embeddings": (floats("batch", "SPEAKER"),),
    "audio_codes": (ids("batch", "QUANTIZERS", 10, high="16"),),
    "latents": (floats("batch", "D", 20), floats("batch", 20, "D")),
    "inputs_embeds": STATES,
    "hidden_states": (*STATES, floats("batch", 1, 9600)),  # a codec takes its wave under this name
    "query_embeds": (floats("batch", "seq", "D"),),
    "encoder_hidden_states": (floats("batch", "seq", "CROSS"),),
    "image_embeds": (floats("batch", "seq", "CROSS"),),
    "visual_feats": (floats("batch", 6, "FEATURES"),),
    "visual_embeds": (floats("batch", 6, "FEATURES"),),
    "visual_pos": (floats("batch", 6, "BOX"),),
    "past_values": (floats("batch", "PAST"), floats("batch", "PAST", "SERIES")),
    "past_observed_mask": (ones("batch", "PAST"), ones("batch", "PAST", "SERIES")),
    "past_time_features": (floats("batch", "PAST", "CLOCK"),),
    "future_values": (floats("batch", "AHEAD"),),
    "future_time_features": (floats("batch", "AHEAD", "CLOCK"),),
    "states": (floats("batch", 4, "STATE"),),
    "actions": (floats("batch", 4, "ACTION"),),
    "returns_to_go": (floats("batch", 4, 1),),
    "timesteps": (Layout(("batch", 4), "range", "int64"),),
    "context_input_ids": (ids("batch*DOCS", "seq"),),
    "context_attention_mask": (ones("batch*DOCS", "seq"),),
    "doc_scores": (floats("batch", "DOCS"),),
    "qformer_input_ids": (ids("batch", "target"),),
    "qformer_attention_mask": (ones("batch", "target"),),
    "input_points": (each([[[[8.0, 8.0]]]], dtype="float32"),),
    "input_labels": (each([[[1]]]),),
    "points": (floats("batch", 2, 2, 2),),
    "point_labels": (ids("batch", 2, 2, high="2"),),
    "xpath_tags_seq": (zeros("batch", "seq", "DEPTH"),),
    "xpath_subs_seq": (zeros("batch", "seq", "DEPTH"),),
}

# Optional parameters that are given whenever forward has them and their parent is given.
COMPANIONS: dict[str, str] = {
    "lang_ids": "input_ids",
    "attention_mask": "input_ids",
    "bbox": "input_ids",
    "visual_feats": "input_ids",
    "visual_pos": "input_ids",
    "visual_embeds": "input_ids",
    "qformer_input_ids": "input_ids",
    "qformer_attention_mask": "qformer_input_ids",
    "speaker_embeddings": "input_ids",
    "decoder_input_values": "input_ids",
    "protein_input_ids": "input_ids",
    "protein_attention_mask": "protein_input_ids",
    "image_grid_thw": "pixel_values",
    "grid_thw": "pixel_values",
    "image_token_pooling": "pixel_values",
    "image_grids": "pixel_values",
    "image_num_crops": "pixel_values",
    "input_points": "pixel_values",
    "input_labels": "input_points",
    "cross_attention_mask": "pixel_values",
    "noise": "state",
    "timestep": "state",
    "pixel_attention_mask": "pixel_values",
    "image_embeds_position_mask": "pixel_values",
    "image_grid_hw": "pixel_values",
    "image_grid_hws": "pixel_values",
    "image_sizes": "pixel_values",
    "spatial_shapes": "pixel_values",
    "target_sizes": "pixel_values",
    "aspect_ratio_ids": "pixel_values",
    "aspect_ratio_mask": "pixel_values",
    "image_position_ids": "pixel_values",
    "pixel_position_ids": "pixel_values",
    "high_res_pixel_values": "pixel_values",
    "image_attention_mask": "pixel_values",
    "merge_sizes": "pixel_values",
    "image_merge_sizes": "pixel_values",
    "video_grid_thw": "pixel_values_videos",
    "input_features_mask": "input_features",
    "feature_attention_mask": "input_features",
    "feature_lens": "input_features",
    "aftercnn_lens": "input_features",
    "noise_sequence": "input_features",  # a vocoder draws its own where none is given
    "audio_attention_mask": "audio_input_features",
    "past_time_features": "past_values",
    "past_observed_mask": "past_values",
    "future_time_features": "past_values",
    "future_values": "future_time_features",  # without a clock they are what a loss is taken from
    "actions": "states",
    "returns_to_go": "states",
    "timesteps": "states",
    "context_attention_mask": "context_input_ids",
    "doc_scores": "context_input_ids",
}
# Companions that a model may do without: dropped when a try fails with them.
DROPPABLE = (
    "image_sizes",
    "image_attention_mask",
    "input_features_mask",
    "feature_attention_mask",
    "image_position_ids",
)
# The sizes that symbols have where nobody asks for others.
SYMBOLS = {"seq": 16, "target": 8, "samples": 8000}

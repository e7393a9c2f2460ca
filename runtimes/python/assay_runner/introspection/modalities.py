"""Which modalities a model class takes and which of its forward's parameters are its main inputs."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping

# A forward parameter of this name carries this modality. Used where a class does not declare its modalities, and to
# find the parameters that carry those it declares. Order is the order in which inputs are listed.
CARRIERS: tuple[tuple[str, str], ...] = (
    ("input_ids", "text"),
    ("input_text_ids", "text"),
    ("pixel_values", "image"),
    ("pixel_values_images", "image"),
    ("image_pixel_values", "image"),
    ("flattened_patches", "image"),
    ("pixel_values_videos", "video"),
    ("input_features", "audio"),
    ("audio_input_features", "audio"),
    ("input_values", "audio"),
    ("audio_values", "audio"),
    ("spectrogram", "audio"),
    ("audio_mel", "audio"),
    ("past_values", "time"),
)
MODALITIES = ("text", "image", "video", "audio", "time")
# One parameter may carry a modality that its name does not say: video frames come as pixel_values too.
ALSO_CARRIES = {"video": ("pixel_values",), "text": ("decoder_input_ids",)}
# Parameters that are states, switches or training targets: never main inputs.
NOT_INPUTS = frozenset(
    "labels past_key_values use_cache output_attentions output_hidden_states return_dict encoder_outputs "
    "logits_to_keep cache_params mm_encoder_outputs interpolate_pos_encoding return_loss".split()
)


def declared(cls: type) -> frozenset[str]:
    """What the class says of itself (``input_modalities``, newer releases); empty when it only inherits the default."""
    for base in cls.__mro__:
        if base.__name__ == "PreTrainedModel":
            return frozenset()
        if "input_modalities" in vars(base):
            value = vars(base)["input_modalities"]
            return frozenset((value,) if isinstance(value, str) else value)
    return frozenset()


def main_names(cls: type) -> tuple[str, ...]:
    """The class's ``main_input_name``, which some classes give as a list."""
    value = getattr(cls, "main_input_name", "input_ids")
    return (value,) if isinstance(value, str) else tuple(value)


def modalities_of(cls: type, parameters: Mapping[str, inspect.Parameter]) -> frozenset[str]:
    """The modalities the class declares, else those its forward's parameters carry.

    A part of a larger model inherits the whole's declaration, so what its own forward cannot take is left out.
    """
    said = declared(cls)
    if not said:
        return frozenset(kind for name, kind in CARRIERS if name in parameters)
    return frozenset(kind for kind in said if _carrier(kind, parameters)) or said


def required(parameters: Mapping[str, inspect.Parameter]) -> list[str]:
    """The parameters without which forward cannot be called."""
    return [name for name, p in parameters.items() if p.default is p.empty]


def main_inputs(cls: type, parameters: Mapping[str, inspect.Parameter]) -> list[str]:
    """The inputs a use of the model gives: one carrier for each modality, the main one, and all that forward needs."""
    kinds = modalities_of(cls, parameters)
    chosen = [_carrier(kind, parameters) for kind in MODALITIES if kind in kinds]
    chosen = [name for name in chosen if name != "decoder_input_ids"]
    chosen += [name for name in main_names(cls) if name in parameters]
    if "video" in kinds and "image" in kinds:  # one of the two is enough to use the tower they share
        chosen = [name for name in chosen if name != "pixel_values_videos" or "pixel_values" not in parameters]
    needed = [name for name in required(parameters) if name not in NOT_INPUTS]
    return _unique(filter(None, chosen + needed))


def _carrier(kind: str, parameters: Mapping[str, inspect.Parameter]) -> str:
    names = [name for name, carried in CARRIERS if carried == kind] + list(ALSO_CARRIES.get(kind, ()))
    return next((name for name in names if name in parameters), "")


def _unique(names: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(names))

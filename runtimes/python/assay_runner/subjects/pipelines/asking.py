"""What a pipeline's call is given: tables from the names of its parameters.

`GIVEN` are the inputs that a recipe draws; `SETTINGS` the plain values of the call.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from inspect import Parameter
from typing import Any

from assay_runner.subjects.shrinking.rules import VOCABULARY
from assay_runner.subjects.shrinking.tokens import LOW, RESERVED

WORDS = 8  # of a prompt
STEPS = 2
FRAMES = 5  # one, and four for codecs that take four frames at a time
SIDES = (32, 64)  # of pictures, in the order they are tried


@dataclass(frozen=True)
class Given:
    """An input that is drawn: its kind and shape, and when a call wants it."""

    kind: str
    shape: tuple[int | str, ...]
    dtype: str = "float32"
    low: int = 0
    high: int = 0

    def spec(self, name: str, side: int) -> dict[str, Any]:
        """The input as a recipe has it, for pictures with sides of this many pixels."""
        shape = [side if entry == "side" else entry for entry in self.shape]
        spec: dict[str, Any] = {"name": name, "kind": self.kind, "dtype": self.dtype, "shape": shape}
        return {**spec, "low": self.low, "high": self.high} if self.kind == "ids" else spec


_PICTURE = Given("float", ("batch", 3, "side", "side"))
NOISE_NAME = "noise"
NOISE = Given("ids", ("batch",), "int64", 0, 1 << 31)  # which noise: a number for each picture
GIVEN: dict[str, Given] = {
    "prompt": Given("ids", ("batch", "seq"), "int64", LOW, VOCABULARY - RESERVED),
    "image": _PICTURE,
    "control_image": _PICTURE,
    "mask_image": Given("float", ("batch", 1, "side", "side")),
    "video": Given("float", ("batch", FRAMES, 3, "side", "side")),
    "class_labels": Given("ids", ("batch",), "int64", 0, 1000),
}

SETTINGS: dict[str, Any] = {
    "num_inference_steps": STEPS,
    "prior_num_inference_steps": STEPS,
    "height": "side",
    "width": "side",
    "num_frames": FRAMES,
    "video_length": FRAMES,
    "max_sequence_length": 32,
    "output_type": "pt",
    "decode_chunk_size": 2,
    "frame_rate": 8,
    "use_resolution_binning": False,
    "clean_caption": False,
    "audio_length_in_s": 0.1,
    "audio_end_in_s": 0.02,
}
"""The values of a call; a pipeline is given those that it takes."""

# Pictures that are changed only in part are changed in the last steps: of twice as many, with half the strength.
PARTLY = {"strength": 0.5, "num_inference_steps": 2 * STEPS}


# What each task starts from. Other inputs of a call are left out, unless it must have them.
STARTS: dict[str, frozenset[str]] = {
    "image-to-image": frozenset({"prompt", "image"}),
    "inpainting": frozenset({"prompt", "image", "mask_image"}),
    "image-to-video": frozenset({"prompt", "image"}),
    "video-to-video": frozenset({"prompt", "video"}),
    "class-to-image": frozenset({"class_labels"}),
}
USUAL = frozenset({"prompt"})
# Parts that look at a picture beside the prompt, and the names under which calls take it.
LOOKING = frozenset({"controlnet", "adapter"})
LOOKED_AT = frozenset({"image", "control_image"})


def inputs(accepts: Mapping[str, Parameter], made: Iterable[str], task: str, side: int) -> list[dict[str, Any]]:
    """The inputs for a task of a call that takes these parameters, of a pipeline made of these parts."""
    wanted = STARTS.get(task, USUAL) | (LOOKED_AT if LOOKING.intersection(made) else frozenset())
    wanted |= {name for name, parameter in accepts.items() if parameter.default is parameter.empty}
    drawn = [given.spec(name, side) for name, given in GIVEN.items() if name in accepts and name in wanted]
    return [*drawn, NOISE.spec(NOISE_NAME, side)]


def settings(accepts: Mapping[str, Parameter], side: int, own: Mapping[str, Any]) -> dict[str, Any]:
    """The plain values of a call that takes these parameters, with the pipeline's own over them."""
    values = {**SETTINGS, **(PARTLY if "strength" in accepts else {}), **own}
    return {name: side if value == "side" else value for name, value in values.items() if name in accepts}

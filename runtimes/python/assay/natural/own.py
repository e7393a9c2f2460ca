"""A reader by the processors beside a checkpoint's weights: its tokenizer, its image processor, its extractor,
or one for all of them."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from transformers import AutoConfig, AutoProcessor, GenerationConfig, PreTrainedTokenizerBase
from transformers.feature_extraction_utils import FeatureExtractionMixin
from transformers.image_processing_utils import BaseImageProcessor
from transformers.processing_utils import ProcessorMixin

from assay_runner.subjects.natural.spoken import Tokens, ends

from .. import feeding
from . import material
from .reading import Read, chosen

_RATE = 16000


class Own:
    """Reads with what `AutoProcessor` finds in a folder; OSError or ValueError where that is nothing."""

    def __init__(self, recipe: Mapping[str, Any], folder: str) -> None:
        self._processor = AutoProcessor.from_pretrained(folder, local_files_only=True)
        self.config: Mapping[str, Any] = AutoConfig.from_pretrained(folder, local_files_only=True).to_dict()
        self._seq = int(recipe.get("sizes", {}).get("seq", 1))
        tokenizer = _part(self._processor, "tokenizer", PreTrainedTokenizerBase)
        self.words = Tokens(tokenizer, ends(self.config) | _generation_ends(folder)) if tokenizer else None
        extractor = _part(self._processor, "feature_extractor", FeatureExtractionMixin)
        self.rate = int(getattr(extractor, "sampling_rate", 0) or _RATE)
        pictures = _part(self._processor, "image_processor", BaseImageProcessor)
        heard = extractor is not None and not isinstance(extractor, BaseImageProcessor)
        reads = recipe["task"] != "automatic-speech-recognition"  # whose tokenizer is for what was heard
        parts = {"text": tokenizer and reads, "image": pictures, "audio": heard}
        self.modalities = tuple(kind for kind, there in parts.items() if there)
        self.about = f"by the checkpoint's own {type(self._processor).__name__}"

    def read(self, x: Any, padded: bool = True) -> Read:
        """The inputs of one request; texts are padded to a multiple of the recipe's length: few shapes occur."""
        given = chosen(x, self.modalities)
        texts = given.get("text", ())
        texts = (texts,) if isinstance(texts, str) else tuple(texts)
        call = next(call for kind, call in _CALLS if isinstance(self._processor, kind))
        size = None
        if "image" in given:
            given["image"] = material.picture(given["image"])
            size = given["image"].size
        if "audio" in given:
            given["audio"] = material.sound(given["audio"], self.rate)
        made = feeding.arrays(call(self._processor, {**given, "text": list(texts)}, self.rate))
        length = made["input_ids"].shape[-1] if "input_ids" in made else 0
        return Read(self._padded(made, length) if padded else made, texts, length, size)

    def _padded(self, made: feeding.Arrays, length: int) -> feeding.Arrays:
        """What goes along the text is as long as it; without a mask nothing can be padded."""
        if not length or "attention_mask" not in made or not self.words:
            return made
        most = max(self.words.tokenizer.model_max_length, length)
        more = min(math.ceil(length / self._seq) * self._seq, most) - length
        fills = {"input_ids": self.words.pad}
        return {
            name: np.pad(array, ((0, 0), (0, more)), constant_values=fills.get(name, 0))
            if array.ndim == 2 and array.shape[-1] == length
            else array
            for name, array in made.items()
        }


def _part(processor: Any, name: str, kind: type) -> Any:
    """The processor itself where it is of that kind, else its part of that name."""
    return processor if isinstance(processor, kind) else getattr(processor, name, None)


def _generation_ends(folder: str) -> frozenset[int]:
    try:
        return ends(GenerationConfig.from_pretrained(folder, local_files_only=True).to_dict())
    except OSError:
        return frozenset()


Given = Mapping[str, Any]


def _tokenized(processor: Any, given: Given, rate: int) -> Any:
    return processor(given["text"], padding=len(given["text"]) > 1, truncation=True, return_tensors="np")


def _seen(processor: Any, given: Given, rate: int) -> Any:
    return processor(images=given["image"], return_tensors="pt")


def _heard(processor: Any, given: Given, rate: int) -> Any:
    return processor(given["audio"], sampling_rate=rate, return_tensors="np")


def _whole(processor: Any, given: Given, rate: int) -> Any:
    """All together; a chat model gets its text in its own form, with a mark for the picture."""
    call: dict[str, Any] = {}
    if given["text"]:
        call["text"] = [_chat(processor, text, "image" in given) for text in given["text"]]
        call["padding"] = len(given["text"]) > 1
    if "image" in given:
        call["images"] = [given["image"]] * max(1, len(given["text"]))
    if "audio" in given:
        call |= {"audio": given["audio"], "sampling_rate": rate}
    return processor(**call, return_tensors="pt")


def _chat(processor: Any, text: str, picture: bool) -> str:
    if not getattr(processor, "chat_template", None):
        return text
    content = [{"type": "image"}] * picture + [{"type": "text", "text": text}]
    return processor.apply_chat_template([{"role": "user", "content": content}], add_generation_prompt=True)


_CALLS: tuple[tuple[type, Callable[[Any, Given, int], Any]], ...] = (
    (PreTrainedTokenizerBase, _tokenized),
    (BaseImageProcessor, _seen),
    (ProcessorMixin, _whole),
    (FeatureExtractionMixin, _heard),
)
"""A kind of processor → how it is called."""

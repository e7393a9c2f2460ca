"""What a generation by graphs begins with: the ids of a text, and what a model reads beside them, such as an image.

A graph of one step counts its places by the words of the text. A model that keeps more of its past than that (git puts
its image before its text) counts in a way of its own, and is refused here rather than written wrongly.
"""

from __future__ import annotations

from collections.abc import Mapping

import torch

from assay_runner.errors import BeyondAssay
from assay_runner.subjects.outputs import Tensors

IDS = "input_ids"
_SAID = {IDS, "attention_mask", "position_ids"}
"""Inputs that say no more than the text does: its words, that none of them is hidden, and where they stand."""


def beside(given: Mapping[str, torch.Tensor]) -> Tensors:
    """What is read beside a text."""
    return {name: t for name, t in given.items() if name not in _SAID}


def refuse_others(given: Mapping[str, torch.Tensor], how: str) -> None:
    """Raises BeyondAssay for what does not begin with a text."""
    if IDS not in given:
        raise BeyondAssay(f"{how} begins with the ids of a text, and this model begins with {_named(given)}")


def refuse_more(given: Mapping[str, torch.Tensor], how: str) -> None:
    """Raises BeyondAssay for what begins with more than a text."""
    refuse_others(given, how)
    if more := beside(given):
        raise BeyondAssay(f"{how} is for models that read nothing but a text: this one reads {_named(more)} too")


def refuse_longer(words: int, places: int, how: str) -> None:
    """Raises BeyondAssay for a model that keeps more places of its prompt than that has words."""
    if places > words:
        raise BeyondAssay(
            f"{how} counts the places of the past by the words of the text: this model keeps {places} places for "
            f"{words} words"
        )


def _named(given: Mapping[str, torch.Tensor]) -> str:
    return ", ".join(sorted(given))

"""A diffusers pipeline as one module: text or images in, images, videos or audio out.

The pipeline's networks are its children under their own names; scheduler and
tokenizers are held by the pipeline itself. A call is the whole of it: words are
tokenised and encoded, noise is removed in a fixed number of steps, the result is
decoded.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import torch

from assay_runner.subjects.diffusion import assembling, components, drawing, release, tokenizers


class Pipeline(torch.nn.Module):
    """Holds the networks of a pipeline and runs it."""

    def __init__(self, pipeline: Any) -> None:
        super().__init__()
        self.__dict__["pipeline"] = pipeline  # no child of its own: it is made of the children
        self._accepted = components.accepted(type(pipeline))
        pipeline.set_progress_bar_config(disable=True)
        for name, part in pipeline.components.items():
            if isinstance(part, torch.nn.Module):
                self.add_module(name, part)

    @property
    def separate_parts(self) -> list[torch.nn.Module]:
        """The networks: each has its own say on what stays in float32."""
        return list(self.children())

    def forward(self, **given: Any) -> dict[str, Any]:
        """One call. Tensors are inputs as recipes make them; everything else goes to the pipeline as it is.

        `noise` is a number for each picture: it names the stream that all noise of the call comes from.
        """
        seeds = given.pop("noise").tolist()
        arguments = {name: _turned(name, value) for name, value in given.items()}
        if "batch_size" in self._accepted:
            arguments["batch_size"] = len(seeds)
        with drawing.drawn_by_rule("-".join(map(str, seeds))):
            found = self.pipeline(**arguments, return_dict=True)
        return {name: _tensors(value) for name, value in found.items() if value is not None}


def construct(recipe: Mapping[str, Any], attention: str | None) -> torch.nn.Module:
    """The pipeline that a recipe describes."""
    return Pipeline(assembling.pipeline(recipe, attention)).eval()


def preload(recipe: Mapping[str, Any]) -> None:
    """Imports the classes of a recipe."""
    release.find(recipe["class"])
    for row in recipe["parts"].values():
        if row is not None and row["module"] != assembling.WORDS:
            release.find(row["class"], row["module"])


def _words(ids: torch.Tensor) -> list[str]:
    return [tokenizers.text(row) for row in ids.tolist()]


def _pixels(values: torch.Tensor) -> torch.Tensor:
    """Pictures are given from 0 to 1."""
    return values / 2 + 0.5


_TURNS: dict[str, Callable[[torch.Tensor], Any]] = {
    "prompt": _words,
    "image": _pixels,
    "control_image": _pixels,
    "mask_image": lambda values: (values > 0).to(values.dtype),
    "video": _pixels,
    "class_labels": lambda values: values.tolist(),
}
"""How an input that a recipe makes becomes what a pipeline takes under that name."""


def _turned(name: str, value: Any) -> Any:
    turn = _TURNS.get(name)
    return turn(value) if turn and isinstance(value, torch.Tensor) else value


def _tensors(value: Any) -> Any:
    """Arrays as tensors, also in lists."""
    if isinstance(value, np.ndarray):
        return torch.from_numpy(value)
    return [_tensors(item) for item in value] if isinstance(value, (list, tuple)) else value

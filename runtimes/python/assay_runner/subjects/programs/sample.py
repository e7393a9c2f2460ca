"""The program `sample`: models whose forward draws noise and removes it in steps.

Torch's generators give other numbers for other dtypes and devices; a reference in another dtype would then be about
another sample. So the noise comes from our streams: the input `noise` has a number for each row of the batch, which
names the stream of all noise that is drawn for it.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Mapping
from itertools import count
from typing import Any

import numpy as np
import torch
from torch.overrides import TorchFunctionMode
from transformers import PreTrainedModel

from assay_runner.subjects import models, stream
from assay_runner.subjects.wrapping import Wrapped

Recipe = Mapping[str, Any]
STEPS = "num_steps"  # the parameter of forward that gives such a model away
GIVEN = "noise"  # a forward that takes its noise draws none
_UNIT = stream.Draw(0.0, 1.0)


class _ByRule(TorchFunctionMode):
    """Inside, the n-th tensor of noise that is asked for has the n-th stream of each row's number."""

    def __init__(self, numbers: list[int]) -> None:
        super().__init__()
        self._numbers, self._asked = numbers, count()

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func is not torch.randn:
            return func(*args, **(kwargs or {}))
        shape = tuple(args[0]) if isinstance(args[0], (list, tuple)) else args
        return self._drawn(shape, next(self._asked)).to(**{key: (kwargs or {}).get(key) for key in ("device", "dtype")})

    def _drawn(self, shape: tuple[int, ...], asked: int) -> torch.Tensor:
        each = shape[1:]
        rows = [stream.floats(f"noise/{number}/{asked}", math.prod(each), _UNIT) for number in self._numbers]
        return torch.from_numpy(np.stack(rows).reshape(-1, *each))


class Sampling(Wrapped):
    """A model that samples, with noise by rule."""

    def forward(self, noise: torch.Tensor, **given: Any) -> Any:
        """Samples. `noise` names the streams of each row's noise."""
        with _ByRule(noise.tolist()):
            return self.model(**given)


def samples(cls: type) -> bool:
    """Whether a model class draws noise in its forward and removes it in steps."""
    parameters = inspect.signature(cls.forward).parameters
    return STEPS in parameters and GIVEN not in parameters


def construct(recipe: Recipe, attention: str | None) -> Sampling:
    """The recipe's class with drawn weights, to sample with."""
    return around(recipe, models.model_class(recipe)(models.config(recipe, attention)))


def around(recipe: Recipe, model: PreTrainedModel) -> Sampling:
    """A model to sample with."""
    return Sampling(model)

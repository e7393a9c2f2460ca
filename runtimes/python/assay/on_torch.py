"""Models of torch itself, on the CPU or on one of torch's devices."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from transformers.utils import logging

from assay_runner.checking import placement
from assay_runner.engines.torch import engine
from assay_runner.process import libraries
from assay_runner.subjects import generation, weights
from assay_runner.subjects.programs import continuing

from . import feeding
from .engines import Point, Silent
from .feeding import Arrays
from .platforms import Target
from .subjects import SEED, Subject


class OnTorch:
    """A model of torch on one of its devices."""

    fixed, software = False, False

    def __init__(self, subject: Subject, target: Target, dtype: str) -> None:
        self._session = engine.Session(subject.job(target, dtype), Silent())
        built = self._session.built()
        self._session.to_device(built)
        self._model = built.model
        self.parameters = built.parameters
        self.device = placement.seen(built.model, {})
        self.versions = libraries.installed()

    @property
    def model(self) -> Any:
        """Torch's own."""
        return self._model

    def run(self, given: Arrays, point: Point) -> Arrays:
        """One inference; what the model draws inside is the same each time, and the caller's generators stay."""
        device = self._session.device.torch
        own = [device] if device.type == "cuda" else []
        with weights.fixed_generators(SEED), torch.random.fork_rng(own):
            return feeding.arrays(self._session.forward(self._model, self._placed(given)))

    def generate(self, given: Arrays, point: Point, new: int) -> np.ndarray:
        """By the model's own `generate`, with its cache."""
        own = self._model.generation_config
        try:
            with torch.inference_mode(), _quiet():
                return continuing.Continuation(self._model, new)(**self._placed(given))[generation.IDS].cpu().numpy()
        finally:
            self._model.generation_config = own

    def _placed(self, given: Arrays) -> dict[str, Any]:
        made = {name: torch.from_numpy(np.ascontiguousarray(array)) for name, array in given.items()}
        cast = {name: t.to(self._session.dtype) if t.is_floating_point() else t for name, t in made.items()}
        return self._session.placed(cast)

    def close(self) -> None:
        """Drops the model and what torch's allocator keeps for it."""
        device = self._session.device
        del self._model, self._session
        gc.collect()
        device.empty_cache()


@contextmanager
def _quiet() -> Iterator[None]:
    """Inside, transformers does not comment on how it is asked to generate."""
    before = logging.get_verbosity()
    logging.set_verbosity_error()
    try:
        yield
    finally:
        logging.set_verbosity(before)

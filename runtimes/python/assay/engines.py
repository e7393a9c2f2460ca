"""What runs a loaded model: torch itself (`on_torch`), or an exported graph on OpenVINO or QNN (`on_graph`).

An engine takes named arrays and returns named arrays; it knows nothing about texts or pictures. It is opened by its
constructor, which raises the runner's errors, and closed once. Both engines are sessions of the runner's own code, held
open.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Protocol

import numpy as np

from .feeding import Arrays

Point = Mapping[str, int]


class Silent:
    """Hears what the runner reports, and tells nobody."""

    index: int | None = None

    @contextmanager
    def in_phase(self, name: str) -> Iterator[None]:
        """A phase of the work."""
        yield


class Engine(Protocol):
    """A model on its device."""

    @property
    def fixed(self) -> bool:
        """Whether shapes are compiled in: another one then takes a compilation of its own."""

    @property
    def device(self) -> str:
        """Where it really runs."""

    @property
    def software(self) -> bool:
        """Whether that is an emulator."""

    @property
    def parameters(self) -> int:
        """How many the model has, tied ones once."""

    @property
    def versions(self) -> Mapping[str, str]:
        """Of the libraries that there are."""

    def run(self, given: Arrays, point: Point) -> Arrays:
        """One inference."""

    def generate(self, given: Arrays, point: Point, new: int) -> np.ndarray:
        """The ids by which the model continues what it is given, greedily: (batch, new)."""

    def close(self) -> None:
        """Gives the memory back."""

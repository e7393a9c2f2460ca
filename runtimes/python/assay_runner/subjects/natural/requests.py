"""A request of a user, as named arrays."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

Arrays = dict[str, np.ndarray]


@dataclass(frozen=True)
class Read:
    """A request as named arrays, and what its answer needs to know about it."""

    arrays: Arrays
    texts: tuple[str, ...] = ()
    length: int = 0  # tokens of the longest text, without padding
    size: tuple[int, int] | None = None  # width and height of the first picture

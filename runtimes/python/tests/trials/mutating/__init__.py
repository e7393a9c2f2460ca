"""The faults that are planted: each is a function that alters a graph, or says that it has nothing of the kind."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from .attention import heads_swapped, rotary_off_by_one
from .finding import Graph, Lacking
from .numbers import bias_zeroed, epsilon_grown, half_precision
from .values import mask_ignored, rows_swapped

MUTATIONS: Mapping[str, Callable[[Graph], None]] = {
    "bias zeroed": bias_zeroed,
    "mask ignored": mask_ignored,
    "rotary off by one": rotary_off_by_one,
    "heads swapped": heads_swapped,
    "epsilon x 1000": epsilon_grown,
    "half precision": half_precision,
    "rows swapped": rows_swapped,
}

__all__ = ["MUTATIONS", "Graph", "Lacking"]

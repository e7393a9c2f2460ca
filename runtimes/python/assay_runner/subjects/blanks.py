"""Tensors that a model's own initialisation leaves at zero, or forgets, and training does not.

A gate that lets nothing through, a projection of zeros and a codebook without
words cut a path of the model: what lies behind is computed and never seen, so
that damage there could not be seen either. They are drawn like other weights.
Vectors stay: zero is what norms, shifts and biases truly start from.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

import torch

from assay_runner.subjects.stream import Draw
from assay_runner.workarounds import Fault


@dataclass(frozen=True)
class Blank:
    """A row: the tensors it means, by the last part of their names, what they are drawn from, and why."""

    names: re.Pattern[str]
    holds: Callable[[torch.Tensor], bool]
    draw: Draw
    why: str


def _parameter(t: torch.Tensor) -> bool:
    return isinstance(t, torch.nn.Parameter)


BLANKS: tuple[Blank, ...] = (
    Blank(
        re.compile(r"(\w+_)?(gate|alpha|logit_scale)(_\w+)?"),
        _parameter,
        Draw(0.5, 0.1),
        "a gate starts shut and a scale at zero: half open, both ways are used",
    ),
    Blank(
        re.compile(r"embed|embed_sum"),
        lambda t: not _parameter(t) and t.dim() == 2,
        Draw(0.0, 0.02),
        "a codebook is a running mean, created empty: every sound would get the same code",
    ),
    Blank(
        re.compile(r"\w+"),
        lambda t: _parameter(t) and t.dim() > 1,
        Draw(0.0, 0.02),
        "a projection of zeros hides what it projects, a router of zeros has nothing to choose by",
    ),
)


FAULT = Fault(
    "transformers_leaves_parameters_unwritten",
    "transformers",
    ("5.0.0", "5.17.0", "5.22.2"),
    "some parameters are never initialised",
)
UNWRITTEN = Draw(0.0, 0.02)  # for parameters that no initialisation writes to: they would hold what memory held before


def blank(name: str, tensor: torch.Tensor) -> Draw | None:
    """What a tensor is drawn from if its initialisation left it blank; None where zero is its true start."""
    last = name.rpartition(".")[2]
    row = next((row for row in BLANKS if row.names.fullmatch(last) and row.holds(tensor)), None)
    if row is None or not tensor.is_floating_point() or not tensor.is_contiguous() or bool(tensor.any()):
        return None
    return row.draw

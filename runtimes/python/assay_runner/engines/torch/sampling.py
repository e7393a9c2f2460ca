"""Runs a model on the samples beside the first, and compares what it gives with the same reference.

A tiny model only: the samples are about what a model does with its inputs, which its size does not change. A sample on
which the model is off is tried before it counts (`steadiness`): for ties, and for how sensitive it is to rounding.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import torch

from assay_runner.checking import further, reference
from assay_runner.checking.further import NOTHING, Further, Left, Rows, sensitive
from assay_runner.checking.tolerances import Tolerance
from assay_runner.subjects import samples
from assay_runner.subjects.outputs import Tensors
from assay_runner.subjects.programs import building
from assay_runner.subjects.samples import Sample

Forward = Callable[[torch.nn.Module, Mapping[str, torch.Tensor]], Tensors]


def make(
    recipe: Mapping[str, Any], point: Mapping[str, Any], seed: int, dtype: torch.dtype, masked: bool
) -> list[Sample]:
    """A point's samples; masked: those only in which something is hidden. Padding is also looked at in two rows of
    different length, which no graph of one takes; where padding is all that is looked at, in two rows alone."""
    found = [one for one in samples.make(recipe, point, seed, dtype) if one.masks or not masked]
    if int(point.get("batch") or 1) > 1 or not any(sample.masks for sample in found):
        return found
    rows = samples.make(recipe, {**point, "batch": 2}, seed, dtype)
    two = [Sample(f"two rows, {one.name}", one.tensors, one.masks) for one in rows if one.masks]
    return two if masked and two else [*found, *two]


def expected(
    built: building.Built, dtype: torch.dtype, made: list[Sample], forward: Forward
) -> tuple[list[Further], list[Left]]:
    """What the reference gives of each; those that it refuses are left out."""
    with reference.wide(built, dtype, forward) as run:
        return further.known(made, run)


@dataclass(frozen=True)
class Trial:
    """A model on its device: how it is run, and how far it may be off."""

    model: torch.nn.Module
    run: Callable[[Mapping[str, torch.Tensor]], Tensors]
    dtype: str
    limit: Tolerance

    def rows(self, known: list[Further]) -> Rows:
        """A row for each sample, and those that turned out to say nothing."""
        found, left = [], []
        for one in known:
            got = self.run(one.sample.tensors)
            row = one.row(got, self.limit, self.dtype)
            if row is not None and not row["pass"]:
                one, row = self._tried(one, got)
            if row is not None:
                found.append(row)
            else:
                left.append(one.left(sensitive(self.dtype) if one.moves else NOTHING))
        return found, left

    def _tried(self, one: Further, got: Tensors) -> tuple[Further, dict[str, Any] | None]:
        """A sample on which the model is off, with how far roundings move it there, and its row by that; None where
        it says nothing."""
        one = replace(one, moves={self.dtype: one.moved(self.model, self.run, got, self.dtype)})
        if one.unfit(self.dtype, self.limit.most):
            return one, None
        row = one.row(got, self.limit, self.dtype)
        wrong = row is not None and not row["pass"] and self.dtype == "fp32"
        return one, None if wrong and one.doubtful(self.model, self.run, got, self.limit.most) else row

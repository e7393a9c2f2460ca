"""Runs a compiled graph on the samples beside the first, and compares what it gives.

Each sample is run once, after the first and through the same compiled model. Rows of a report say by how much each was
off; what could not be run or judged is listed with the reason. A quantised model is judged by its noise, and not on the
samples of first and last values: the ranges that it was quantised for are those of ordinary inputs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from assay_runner.checking import numerics
from assay_runner.checking.further import NOTHING, Further, Rows
from assay_runner.checking.tolerances import Tolerance
from assay_runner.engines.contract import Arrays, Compiled
from assay_runner.subjects.outputs import Tensors
from assay_runner.subjects.samples import EDGES

from .artefact import Artefact

_SLACK_DB = 3.0  # noise of rounded weights differs by that much between inputs: a wrong graph has none of these levels
_NONE = Tolerance(0.0)
_LIKE = "bf16"  # whose roundings are about those of weights of 8 bits


@dataclass(frozen=True)
class Judge:
    """By what samples are judged: a tolerance, or the least ratio of signal to noise."""

    dtype: str
    limit: Tolerance | None
    least_db: float | None

    def row(self, further: Further, found: Tensors) -> dict[str, Any] | None:
        """A sample's row; None where no output can be judged."""
        if self.least_db is None:
            return further.row(found, self.limit or _NONE, self.dtype)
        sample, least = further.sample, self.least_db - _SLACK_DB
        snr = numerics.signal_to_noise_db(sample.visible(found), sample.visible(further.expected), self.dtype)
        return {"name": sample.name, "snr_db": snr, "least_snr_db": least, "pass": snr is not None and snr >= least}

    def unfit(self, further: Further) -> str:
        """Why a sample says nothing here; "" where it does."""
        if self.least_db is not None and further.sample.name in EDGES:
            return "a quantised model has the ranges of ordinary inputs"
        if self.least_db is not None:
            return further.unfit(_LIKE, 10 ** (-self.least_db / 20))
        return further.unfit(self.dtype, (self.limit or _NONE).most)


def rows(artefact: Artefact, compiled: Compiled, judge: Judge, once: Callable[[], Any]) -> Rows:
    """A row for each sample, and those that say nothing here. once runs what is bound, and awaits it."""
    found, left = [], list(artefact.left_out)
    for further in artefact.further():
        if why := judge.unfit(further) or _refused(artefact, further):
            left.append(further.left(why))
        elif (row := judge.row(further, _ran(artefact, compiled, once, further))) is None:
            left.append(further.left(NOTHING))
        else:
            found.append(row)
    return found, left


def _refused(artefact: Artefact, further: Further) -> str:
    """Why the graph cannot be given a sample."""
    fixed = artefact.fixed(further.sample.tensors)
    return f"the graph does not take {', '.join(fixed)}" if fixed else ""


def _ran(artefact: Artefact, compiled: Compiled, once: Callable[[], Any], further: Further) -> Tensors:
    names = [spec["name"] for spec in artefact["graph"]["inputs"]]
    compiled.bind({name: plain(further.sample.tensors[name].numpy()) for name in names})
    once()
    return tensors(compiled.outputs())


def plain(array: np.ndarray) -> np.ndarray:
    """The array in one piece of memory. np.ascontiguousarray would make a list of a single number."""
    return np.asarray(array, order="C")


def tensors(arrays: Arrays) -> Tensors:
    """What a run gave, as torch's tensors, so that the same code compares it. They are copies: the next run may write
    into the same memory."""
    return {name: torch.from_numpy(np.array(array, order="C")) for name, array in arrays.items()}

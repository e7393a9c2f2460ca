"""The ways to export, in the order in which they are tried."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace

import torch

from assay_runner.exporting import constants, exporters
from assay_runner.exporting.call import Subject
from assay_runner.subjects import samples
from assay_runner.subjects.eager import ATTENTION, EXPERTS, eager


@dataclass(frozen=True)
class Way:
    """One way: by whom, with which inputs as constants, with the model's plainest kernels or its own choice, with free
    axes or fixed ones, and with what the model decides by values left open or fixed (`values`)."""

    exporter: exporters.Exporter
    constants: frozenset[str]
    plain: bool = False
    dynamic: bool = False
    chosen: bool = False
    opened: bool = False  # see `masks.decided`; tried only where a graph ran and was wrong
    shown: str = ""  # the sample that is traced instead of the first
    harmless: bool = False  # it counts only where no mask and no layout decides what is chosen

    def label(self) -> str:
        """How the way is named among those that were tried."""
        more = [f"constant {kind}" for kind in sorted(self.constants)]
        more += ["plain kernels"] * self.plain + ["free axes"] * self.dynamic + ["fixed choices"] * self.chosen
        more += (
            [f"by no {constants.MASK}"] * self.harmless
            + ["masks opened"] * self.opened
            + [f"inputs {self.shown}"] * bool(self.shown)
        )
        return ", ".join([self.exporter.name(), *more])

    def kernels(self, model: torch.nn.Module) -> AbstractContextManager[None]:
        """Inside, a model of a plain way computes attention and experts step by step."""
        return eager(model, *((ATTENTION, EXPERTS) if self.plain else ()))


_LAYOUT = frozenset({constants.LAYOUT})
_FRAMES = frozenset({constants.LAYOUT, constants.FRAME})
_ALL = constants.ALL


def table(first: exporters.Exporter, second: exporters.Exporter) -> tuple[Way, ...]:
    """The ways by two exporters, in the order in which they are tried."""
    return (
        Way(first, frozenset(), dynamic=True),
        Way(second, frozenset(), dynamic=True),
        Way(first, frozenset()),
        Way(first, frozenset(), opened=True),
        Way(first, frozenset(), chosen=True, shown=samples.PADDED),
        Way(first, frozenset(), chosen=True, harmless=True),
        Way(first, _LAYOUT),
        Way(first, _LAYOUT, opened=True),
        Way(first, _LAYOUT, chosen=True, shown=samples.PADDED),
        Way(first, _LAYOUT, chosen=True, harmless=True),
        Way(first, _LAYOUT, chosen=True, harmless=True, opened=True),
        Way(first, _FRAMES),
        Way(first, _FRAMES, opened=True),
        Way(first, _FRAMES, chosen=True, shown=samples.WORDS_PADDED),
        Way(first, _FRAMES, chosen=True),
        Way(first, _ALL),
        Way(second, _LAYOUT),
        Way(first, _ALL, plain=True),
        Way(second, _ALL, plain=True),
        Way(first, _ALL, chosen=True),
        Way(second, _ALL, chosen=True),
    )


WAYS = table(exporters.TRANSFORMERS, exporters.TORCH)


def possible(subject: Subject, ways: Sequence[Way] | None = None) -> list[Way]:
    """Those of the ways, of WAYS where none are given, that differ for this subject. Where free axes were asked for,
    fixed ones are the last resort."""
    least = _ALL if subject.options.constant_masks else frozenset()
    has = {kind for kind in _ALL if constants.companions(subject.tensors, frozenset({kind}))}
    names = {row.sample.name for row in subject.further}
    asked = [
        way
        for way in ways or WAYS
        if way.exporter.here() and (subject.options.dynamic or not way.dynamic) and way.shown in {"", *names}
        if way.constants != _FRAMES or constants.FRAME in has  # what sets these ways apart
    ]
    return list(dict.fromkeys(replace(way, constants=(way.constants | least) & has) for way in asked))

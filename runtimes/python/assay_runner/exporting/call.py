"""What an exporter gets: the model, one call of it, and what that call gave."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from typing import Any

import torch

from assay_runner.checking import reference
from assay_runner.checking.further import Further
from assay_runner.checking.tolerances import TABLE, Tolerance
from assay_runner.exporting import (
    buffers,
    casts,
    chunks,
    constants,
    guards,
    indexers,
    masks,
    mixtures,
    parting,
    plainer,
    selections,
    values,
)
from assay_runner.exporting.following import Known, Place
from assay_runner.exporting.graph import Options
from assay_runner.exporting.layout_answers import Layouts
from assay_runner.exporting.notes import Notes
from assay_runner.subjects import outputs
from assay_runner.subjects.outputs import Tensors
from assay_runner.subjects.replacing import replaced


@dataclass(frozen=True)
class Subject:
    """A model and one call of it: its inputs, what stands fixed beside them, and the outputs in float32."""

    model: torch.nn.Module
    tensors: Mapping[str, torch.Tensor]
    call: Mapping[str, Any]
    expected: Tensors
    options: Options = field(default_factory=Options)
    further: Sequence[Further] = ()  # other calls that the graph must be right for
    limit: Tolerance = field(default_factory=lambda: Tolerance(TABLE["fp32"]))  # how far the graph may be off
    layouts: Layouts | None = None  # how what it makes of its layout is followed
    opened: bool = False  # a mask that hides nothing opens what is closed otherwise, as in an ordinary call
    chosen: bool = False  # what the model decides by values is fixed to what it is in this call
    notes: Notes = field(default_factory=Notes, compare=False)

    def fixed(self, kinds: frozenset[str]) -> Subject:
        """The same call with the companions of these kinds as fixed arguments."""
        found = constants.companions(self.tensors, kinds)
        free = {name: t for name, t in self.tensors.items() if name not in found}
        return replace(self, tensors=free, call={**self.call, **found})

    def listened(self) -> Subject:
        """The same with what the model asks of its layout, found out by calls of it; itself where it asks nothing."""
        layouts = Layouts(self.model, self.run)
        if self.options.dynamic or not layouts.any:
            return self
        layouts.listen(self.samples())
        return replace(self, layouts=layouts)

    def samples(self) -> list[Mapping[str, torch.Tensor]]:
        """The inputs of every sample, the first before the others."""
        return [self.tensors, *(row.sample.tensors for row in self.further)]

    def shown(self, name: str) -> Subject:
        """The same call with another of its samples as the one that is traced."""
        row = next(row for row in self.further if row.sample.name == name)
        return replace(self, tensors=row.sample.tensors, expected=row.expected)

    def run(self, tensors: Mapping[str, torch.Tensor]) -> Any:
        """One ordinary call with other inputs, of which nothing stays in the model."""
        torch.manual_seed(self.options.seed)
        with torch.inference_mode(), reference.forgetting(self.model):
            return self.model(**tensors, **self.call)


@contextmanager
def traceable(subject: Subject, traced: frozenset[Place] = frozenset()) -> Iterator[None]:
    """Inside, the model's forward has the subject's inputs as its parameters, makes the subject's call and returns its
    tensors by their flattened names, each a value of its own: a graph cannot give an input, or one tensor twice.
    With fixed shapes, more is known. `traced` are the lines of `following.Filled`."""
    model, own, fixed = subject.model, subject.model.forward, not subject.options.dynamic
    beside = values.beside(model, subject.tensors, subject.notes) if subject.chosen else _nothing

    def forward(**kwargs: Any) -> Tensors:
        torch.manual_seed(subject.options.seed)
        with (
            Known(traced),
            plainer.Functions(),
            masks.decided(subject.opened) if fixed else nullcontext(),
            subject.layouts.followed() if fixed and subject.layouts else nullcontext(),
            beside(kwargs),
            selections.Checked(),
            guards.Passed(),
        ):
            found = outputs.flatten(own(**{**subject.call, **kwargs}))
        return {name: found[name].clone() for name in subject.expected}

    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    forward.__signature__ = inspect.Signature([inspect.Parameter(name, kind) for name in subject.tensors])
    with replaced(model, "forward", lambda own: forward), _settled(subject, fixed):
        yield


@contextmanager
def _settled(subject: Subject, fixed: bool) -> Iterator[None]:
    """Inside, the parts of a model do what a tracer can follow."""
    with (
        buffers.known(subject.model) if fixed else nullcontext(),
        casts.unneeded(),
        chunks.fitted(subject.model),
        indexers.at_once(subject.model),
        mixtures.dense(subject.model, subject.notes),
        parting.together(subject.model),
    ):
        yield


def _nothing(traced: Mapping[str, torch.Tensor]) -> AbstractContextManager[None]:
    """No second forward beside a trace."""
    return nullcontext()

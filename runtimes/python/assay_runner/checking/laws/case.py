"""A model under its laws: the inputs that laws are tried on, and what the model gives of them, each computed once.

There are two rows of different content. An input, or an output, has its rows along the axes that are twice as long for
two rows as for one; what the batch does not change is the same for every row.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import torch

from assay_runner.checking.laws import stretches
from assay_runner.checking.laws.stretches import Stretch
from assay_runner.checking.reference import Memory
from assay_runner.checking.tolerances import Tolerance
from assay_runner.subjects import inputs
from assay_runner.subjects.outputs import Tensors
from assay_runner.subjects.programs import building

Forward = Callable[[torch.nn.Module, Mapping[str, torch.Tensor]], Tensors]
_DRAWN = ("ids", "float")  # inputs whose rows differ


@dataclass
class Case:
    """A model with its recipe at a point; `forward` runs it and seeds nothing."""

    built: building.Built
    recipe: Mapping[str, Any]
    point: Mapping[str, Any]
    seed: int
    forward: Forward
    tolerance: Tolerance
    _seen: dict[str, Tensors] = field(default_factory=dict)

    @property
    def model(self) -> torch.nn.Module:
        """The model itself."""
        return self.built.model

    @property
    def config(self) -> Any:
        """Its configuration, where it has one."""
        return getattr(self.model, "config", None)

    @cached_property
    def memory(self) -> Memory:
        """What the model is like before any law."""
        return Memory(self.model)

    @cached_property
    def parameters(self) -> frozenset[str]:
        """The names that its forward takes."""
        return frozenset(inspect.signature(self.model.forward).parameters)

    @property
    def encodes(self) -> bool:
        """Whether a decoder of its own reads what an encoder made."""
        return bool(getattr(self.config, "is_encoder_decoder", False)) or "decoder_input_ids" in self.parameters

    @cached_property
    def one(self) -> Tensors:
        """The inputs of one row."""
        return self._made(1)

    @cached_property
    def two(self) -> Tensors:
        """Those of two, different ones."""
        return self._made(2)

    def _made(self, batch: int) -> Tensors:
        return inputs.make(self.recipe, {**self.point, "batch": batch}, self.seed, torch.float32)

    def spec(self, name: str) -> Mapping[str, Any]:
        """What the recipe says of an input."""
        return next(spec for spec in self.recipe["inputs"] if spec["name"] == name)

    def row(self, index: int) -> Tensors:
        """One of the two rows, alone."""
        return {
            name: part(t, self.one[name].shape, index) if self.spec(name)["kind"] in _DRAWN else self.one[name]
            for name, t in self.two.items()
        }

    @cached_property
    def sizes(self) -> dict[str, int]:
        """The sizes that shapes may name."""
        return inputs.sizes(self.recipe, self.point)

    @cached_property
    def stretches(self) -> list[Stretch]:
        """The sequences that have a mask."""
        return stretches.find(self.recipe, self.sizes, self.one, self.config)

    def run(self, tensors: Mapping[str, torch.Tensor]) -> Tensors:
        """What the model gives."""
        seeded(self.seed)
        return self.forward(self.model, tensors)

    def once(self, name: str, tensors: Callable[[], Mapping[str, torch.Tensor]]) -> Tensors:
        """The same, computed once for a name."""
        if name not in self._seen:
            self._seen[name] = self.run(tensors())
        return self._seen[name]

    def alone(self, index: int) -> Tensors:
        """What it gives of a row alone."""
        return self.once(f"row {index}", lambda: self.row(index))

    @property
    def together(self) -> Tensors:
        """What it gives of both rows in one batch."""
        return self.once("both rows", lambda: self.two)

    @cached_property
    def draws(self) -> bool:
        """Whether what the model gives depends on numbers that it draws while it runs: rows of a batch have others."""
        first = self._seen["row 0"] = self.run(self.row(0))
        after = torch.get_rng_state()
        seeded(self.seed)
        if torch.equal(after, torch.get_rng_state()):
            return False
        other = replace(self, seed=self.seed + 1).run(self.row(0))
        return not all(torch.equal(t, other[name]) for name, t in first.items() if name in other)

    def of_row(self, given: Tensors, index: int) -> Tensors:
        """The part of a batch's outputs that is one row's; outputs that have no rows are left out."""
        return {name: self._part(name, t, index) for name, t in given.items() if self._axes(name, t)}

    def _axes(self, name: str, t: torch.Tensor) -> list[int]:
        """The axes of an output that are its rows'."""
        both, alone = self.together.get(name), self.alone(1).get(name)
        if both is None or alone is None or both.dim() != t.dim() or both.dim() != alone.dim():
            return []
        if name.endswith("loss"):  # a mean over the batch, repeated
            return []
        axes = [axis for axis in range(both.dim()) if both.shape[axis] != alone.shape[axis]]
        return axes if all(both.shape[axis] == 2 * alone.shape[axis] == t.shape[axis] for axis in axes) else []

    def _part(self, name: str, t: torch.Tensor, index: int) -> torch.Tensor:
        axes, shape = self._axes(name, t), self.alone(1)[name].shape
        wanted = tuple(shape[axis] if axis in axes else t.shape[axis] for axis in range(t.dim()))
        return part(t, wanted, index, name in self._turns)

    @cached_property
    def _turns(self) -> frozenset[str]:
        """The outputs in which the rows take turns: a model that computes everything twice, once without what guides
        it, has its rows one after the other in either half."""
        found = set()
        for name, both in self.together.items():
            alone = self.alone(1).get(name)
            if (
                alone is not None
                and self._axes(name, both)
                and max(alone.shape[axis] for axis in self._axes(name, both)) > 1
            ):
                far = [_far(part(both, alone.shape, 1, turns), alone) for turns in (False, True)]
                found |= {name} if far[1] < far[0] else set()
        return frozenset(found)


def seeded(seed: int) -> None:
    """Sets the CPU's generator. `torch.manual_seed` also leaves a note for devices that are not open yet, which takes
    longer than a tiny model does."""
    torch.default_generator.manual_seed(seed)


def part(t: torch.Tensor, shape: Sequence[int], index: int, turns: bool = False) -> torch.Tensor:
    """The part of a tensor that a row has, given the shape for one row: a piece, or where rows take turns every
    second."""
    for axis, size in enumerate(shape):
        if t.shape[axis] != size:
            places = torch.arange(size) * 2 + index if turns else torch.arange(size) + index * size
            t = t.index_select(axis, places)
    return t


def _far(one: torch.Tensor, other: torch.Tensor) -> float:
    return (one.double() - other.double()).abs().max().nan_to_num().item() if one.numel() else 0.0

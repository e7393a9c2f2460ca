"""A type's model as the laws see it."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

import torch

from assay_runner.checking import laws, tolerances
from assay_runner.subjects import outputs
from assay_runner.subjects.programs import building

SEED = 0


@dataclass
class Lawful:
    """A built model and its recipe."""

    recipe: Mapping[str, Any]
    built: building.Built

    @classmethod
    def of(cls, recipe: Mapping[str, Any]) -> Lawful:
        """With drawn weights."""
        return cls(recipe, building.build(recipe, torch.float32, SEED))

    def forward(self, model: torch.nn.Module, tensors: Mapping[str, torch.Tensor]) -> outputs.Tensors:
        """As the torch engine's, which seeds nothing."""
        with torch.inference_mode():
            return outputs.home(outputs.flatten(model(**tensors, **self.recipe.get("call", {}))))

    @property
    def case(self) -> laws.Case:
        """What laws look at."""
        limit = tolerances.of_cell(self.recipe, {}, "fp32")
        return laws.Case(self.built, self.recipe, {}, SEED, self.forward, limit)

    def rows(self, only: Collection[str] | None = None) -> list[dict[str, Any]]:
        """What every law says."""
        case = self.case
        self.forward(self.built.model, case.row(0))  # what is imported or cached by a first run is no law's
        return laws.check(self.built, self.recipe, {}, SEED, self.forward, case.tolerance, only)

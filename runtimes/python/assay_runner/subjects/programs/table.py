"""The programs that there are, by their names in recipes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import torch

from assay_runner.errors import BadRecipe
from assay_runner.subjects import models
from assay_runner.subjects.programs import continuing, encode, generate, pipeline, rag, sample, track

Recipe = Mapping[str, Any]


@dataclass(frozen=True)
class Program:
    """One way to run a model. `construct` takes the recipe and an attention implementation (None: the library's)."""

    construct: Callable[[Recipe, str | None], torch.nn.Module]
    around: Callable[[Recipe, torch.nn.Module], torch.nn.Module] | None = None  # None: no weights from a folder
    preload: Callable[[Recipe], object] = models.model_class  # imports the modules of the recipe's classes, only that


def plain(recipe: Recipe, attention: str | None) -> torch.nn.Module:
    """The class that the recipe names, as it is."""
    return models.model_class(recipe)(models.config(recipe, attention))


PROGRAMS: dict[str, Program] = {
    "": Program(plain, lambda recipe, model: model),
    "generate": Program(generate.construct, generate.around),
    "continue": Program(continuing.construct, continuing.around),
    "encode": Program(encode.construct, encode.around),
    "rag": Program(rag.construct, rag.around),
    "sample": Program(sample.construct, sample.around),
    "track": Program(track.construct, track.around),
    "pipeline": Program(pipeline.construct, preload=pipeline.preload),
}


def of(recipe: Recipe) -> Program:
    """The program that a recipe asks for."""
    name = recipe.get("program", "")
    if name not in PROGRAMS:
        known = ", ".join(filter(None, PROGRAMS)) or "none"
        raise BadRecipe(f"this runner has no program {name!r}: it has {known}")
    return PROGRAMS[name]

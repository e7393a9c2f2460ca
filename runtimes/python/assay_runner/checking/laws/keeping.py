"""Laws about keeping a model: saved and loaded, or built once more, it is the same."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from typing import Any

import torch

from assay_runner.checking.laws import loading
from assay_runner.checking.laws.case import Case, seeded
from assay_runner.checking.laws.law import Pair
from assay_runner.subjects import weights
from assay_runner.subjects.outputs import Tensors
from assay_runner.subjects.programs import building


def always(case: Case) -> str:
    """The law speaks of every model."""
    return ""


def saves(case: Case) -> str:
    """Why the law of saving says nothing of a model."""
    model: Any = case.model
    if not callable(getattr(model, "save_pretrained", None)):
        return "it has no save_pretrained"
    from transformers import PreTrainedModel

    plain = getattr(type(model).from_pretrained, "__func__", None) is PreTrainedModel.from_pretrained.__func__
    return "" if plain else f"{type(model).__name__} is loaded in its own way"


def saving(case: Case) -> Iterator[Pair]:
    """The tensors of a model that was saved and loaded, to the last bit, and what it gives, but for rounding: kernels
    may round otherwise where a tensor lies elsewhere in memory."""
    model: Any = case.model
    with tempfile.TemporaryDirectory(prefix="assay-law-") as folder, loading.quick():
        model.save_pretrained(folder)
        loaded = type(model).from_pretrained(folder, local_files_only=True).eval()
    yield Pair("a tensor that was saved and loaded", tensors(loaded), tensors(model), case.row(0))
    seeded(case.seed)
    found, row = case.forward(loaded, case.row(0)), case.row(0)
    yield Pair("outputs after saving and loading", found, case.alone(0), row, lambda: case.run(row))


def tensors(model: torch.nn.Module) -> Tensors:
    """Parameters and buffers, tied ones once."""
    return {name: t.detach() for name, t in weights.named_tensors(model)}


def repetition(case: Case) -> Iterator[Pair]:
    """A second run, and a second model of the same seed."""
    yield Pair("a second run", case.run(case.row(0)), case.alone(0), case.row(0))
    if case.built.weights.get("weights") == "random":
        second = building.build(case.recipe, torch.float32, case.seed)
        yield Pair("a second model of the same seed", tensors(second.model), tensors(case.model), {})

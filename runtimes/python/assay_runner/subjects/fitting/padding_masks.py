"""Masks that a model takes and its inputs do not have yet.

What a mask hides can only be checked where there is one. So every parameter of forward that is named as a mask is tried
with ones, in the shapes of the inputs and of what comes out. What counts is what the model does with it, not its name:
ones must change nothing, since they hide nothing, and hiding something must change the output. The first sets masks of
padding apart from marks that share their name (which positions are global, which are an image's); the second leaves out
those that forward takes and does not look at.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import torch

from assay_runner.checking import numerics, tolerances
from assay_runner.introspection import classes
from assay_runner.introspection.modalities import required
from assay_runner.subjects import inputs, outputs, samples
from assay_runner.subjects.expressions import evaluate

from . import read, special, verify
from .search import SEED, Fitted

Spec = dict[str, Any]
Entry = int | str

DTYPES = ("int64", "bool")
SEEN = tolerances.TABLE["fp32"]  # what is hidden moves the output by more than rounding does

NO_SHAPE = "no shape of an input or an output fits it"
NOT_PADDING = "ones change the output: it hides nothing that is padded"
REFUSED = "the model refuses it where it hides something"
UNHEEDED = "what it hides does not change the output"
FIXED = "it fits one size only"
_NEAREST = (NO_SHAPE, NOT_PADDING, UNHEEDED, REFUSED, FIXED)
"""Why a try was not good, by how far it came: the furthest is told."""


@dataclass
class Found:
    """The inputs with the masks that were found, and why the others are none."""

    fitted: Fitted
    without: dict[str, str] = field(default_factory=dict)


def complete(model: torch.nn.Module, fitted: Fitted, row: special.Inputs, base: Mapping[str, Any]) -> Found:
    """The inputs with every mask that the model heeds. base has the other fields of the recipe."""
    found = Found(fitted)
    for name in missing(model, fitted, row):
        spec, why = _search(_Trial(model, found.fitted, base), name)
        if spec is None:
            found.without[name] = why
        else:
            found.fitted = _with(found.fitted, spec)
    return found


def missing(model: torch.nn.Module, fitted: Fitted, row: special.Inputs) -> list[str]:
    """The masks that forward takes and that neither the inputs nor the call have; those of the type's row stay away."""
    parameters = classes.signature(type(model))
    known = {*(spec["name"] for spec in fitted.inputs), *fitted.call, *row.without, *required(parameters)}
    return [name for name in parameters if samples.MASK.fullmatch(name) and name not in known]


def _with(fitted: Fitted, spec: Spec) -> Fitted:
    return Fitted([*fitted.inputs, spec], fitted.sizes, fitted.call)


def _search(trial: _Trial, name: str) -> tuple[Spec | None, str]:
    furthest = 0
    for shape in trial.shapes(name):
        for dtype in DTYPES:
            spec = {"name": name, "kind": "ones", "dtype": dtype, "shape": shape}
            why = trial.trouble(spec)
            if not why:
                return spec, ""
            furthest = max(furthest, _NEAREST.index(why))
            if why != NO_SHAPE:
                break
    return None, _NEAREST[furthest]


class _Trial:
    """A model with inputs on which it runs, to which one mask is added."""

    def __init__(self, model: torch.nn.Module, fitted: Fitted, base: Mapping[str, Any]) -> None:
        self.model, self.fitted = model, fitted
        self.recipe = {**base, "inputs": fitted.inputs, "sizes": fitted.sizes}
        self.plain = {batch: self._run(fitted, inputs.make(self.recipe, {"batch": batch}, SEED, torch.float32))
                      for batch in verify.BATCHES}  # fmt: skip

    def shapes(self, name: str) -> Iterator[list[Entry]]:
        """The shapes that the mask may have, likeliest first."""
        side = "decoder_" if name.startswith("decoder_") else ""
        given = [spec for spec in self.fitted.inputs if _by_row(spec)]
        given.sort(key=lambda spec: spec["name"].startswith("decoder_") != bool(side))
        made = [list(t.shape) for t in self._inside().values() if t.dim() >= 2 and t.shape[0] == 1]
        rows = [shape for spec in given for shape in _of_input(spec["shape"], self._patch())]
        rows += [["batch", entry] for shape in made for entry in self._lengths(shape[1])]
        seen: set[str] = set()
        for shape in rows:
            if str(shape) not in seen:
                seen.add(str(shape))
                yield shape

    def _inside(self) -> outputs.Tensors:
        """What comes out, and the states between layers where the model hands them out: masks may be of these."""
        given = inputs.make(self.recipe, {"batch": 1}, SEED, torch.float32)
        try:
            return self._run(self.fitted, given, output_hidden_states=True)
        except Exception:  # noqa: BLE001 - not every forward takes the switch
            return self.plain[1]

    def _patch(self) -> int:
        return read.sizes_of(self.model.config)["P"]

    def _lengths(self, number: int) -> Iterator[Entry]:
        """A number of positions; where pictures may have any size, as patches and what goes with them."""
        if "image" in self.fitted.sizes:
            patches = f"(image//{self._patch()})*(image//{self._patch()})"
            more = number - evaluate(patches, self.fitted.sizes)
            if more >= 0:
                yield f"{patches}+{more}" if more else patches
        yield number

    def trouble(self, spec: Spec) -> str:
        """Why this is not a mask of the model; "" where it is one."""
        fitted = _with(self.fitted, spec)
        recipe = {**self.recipe, "inputs": fitted.inputs}
        try:
            for batch, plain in self.plain.items():
                if not _same(self._run(fitted, inputs.make(recipe, {"batch": batch}, SEED, torch.float32)), plain):
                    return NOT_PADDING
        except Exception:  # noqa: BLE001 - whatever the model raises, the mask does not fit it
            return NO_SHAPE
        moved = self._moved(fitted, recipe, spec["name"])
        if not any(moved):
            return REFUSED if moved and set(moved) == {None} else UNHEEDED
        return "" if all(verify.free(self.model, fitted, symbol) for symbol in fitted.sizes) else FIXED

    def _moved(self, fitted: Fitted, recipe: Mapping[str, Any], name: str) -> list[bool | None]:
        """Whether each sample that hides by this mask, and differs in nothing else, changes the output; None where the
        model refuses it or gives no numbers: it need not take padding on every side."""
        first = inputs.make(recipe, {"batch": 1}, SEED, torch.float32)
        made = (one for one in samples.make(recipe, {"batch": 1}, SEED, torch.float32) if name in one.masks)
        found: list[bool | None] = []
        for one in made:
            try:
                given = one.visible(self._run(fitted, {**first, name: one.tensors[name]}))
                numbers = not any(bool(t.isnan().any()) for t in given.values())
                found.append(not _same(given, one.visible(self.plain[1])) if numbers else None)
            except Exception:  # noqa: BLE001
                found.append(None)
        return found

    def _run(self, fitted: Fitted, given: Mapping[str, torch.Tensor], **more: Any) -> outputs.Tensors:
        torch.manual_seed(SEED)  # for what a model draws inside its forward
        with torch.no_grad():
            return outputs.flatten(self.model(**given, **{**fitted.call, **more}))


def _by_row(spec: Spec) -> bool:
    return spec["kind"] != "value" and len(spec["shape"]) > 1 and str(spec["shape"][0]).startswith("batch")


def _of_input(shape: list[Entry], patch: int) -> list[list[Entry]]:
    """The masks of an input: by position wherever its channels stand, by pixel, by patch, or by number."""
    match shape:
        case [_, length]:
            return [["batch", length], shape]
        case [rows, one, two]:
            return [[rows, one], [rows, two], shape]
        case [*rows, _, height, width]:
            patches = [_divided(height, patch), _divided(width, patch)]
            return [[*rows, height, width], [*rows, *patches], [rows[0], height], [rows[0], width]]
    return []


def _divided(side: Entry, patch: int) -> Entry:
    return side // patch if isinstance(side, int) else f"{side}//{patch}"


def _same(found: outputs.Tensors, plain: outputs.Tensors) -> bool:
    """Whether two runs agree in all that both could give: a mask that was handed in may be handed out again."""
    return numerics.compare({name: found[name] for name in plain if name in found}, plain).max_rel <= SEEN

"""Finds inputs with which a model runs."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import torch

from assay_runner.introspection import classes
from assay_runner.introspection.modalities import main_inputs, modalities_of
from assay_runner.subjects import inputs
from assay_runner.subjects.shrinking import unstated

from . import places, read, special
from .guess import Forward, Guess, names, options, write
from .layouts import Layout
from .repairs import repair

REPAIRS = 6  # how often one try may be corrected
TRIES = 40  # how many layouts are tried in all; what works is nearly always among the first few
BATCHES = (1, 2)  # a layout that fits only a batch of one is a wrong one, and the next may do
SEED = 0


class NoFit(Exception):
    """No inputs were found with which the model runs; the message is the error of the likeliest try."""


@dataclass
class Fitted:
    """What the search found: the inputs, sizes and call of a recipe."""

    inputs: list[dict[str, Any]]
    sizes: dict[str, int]
    call: dict[str, Any] = field(default_factory=dict)


def forward_of(cls: type, config: Any, own: Mapping[str, Layout]) -> Forward:
    """What inputs for this class and configuration must fit."""
    parameters = classes.signature(cls)
    return Forward(
        parameters,
        modalities_of(cls, parameters),
        read.sizes_of(config),
        read.vocabulary(config),
        bool(getattr(config, "is_encoder_decoder", False)),
        {name: layout for name, layout in own.items() if name in parameters},
    )


def fit(model: torch.nn.Module, row: special.Inputs) -> Fitted:
    """Searches for inputs: those of the type's row, else the main ones.

    Raises NoFit with the first try's error when nothing ran.
    """
    cls, config = type(model), model.config
    forward = replace(forward_of(cls, config, row.layouts), place=row.place)
    wanted = row.main or tuple(main_inputs(cls, forward.parameters))
    first = Guess(wanted, sizes=row.sizes, dropped=row.without, call=row.call, places=row.places)
    told: Exception | None = None
    for start in itertools.islice(_tries(first, forward), TRIES):
        guess: Guess | None = start
        for _ in range(REPAIRS):
            try:
                return _run(model, guess, forward)
            except _NoLayout:
                break
            except Exception as error:  # noqa: BLE001 - a model's own code may raise anything
                if unstated.asked(error):
                    raise NoFit(str(error)) from error  # no other input would fix the configuration
                told = told if told and start is not first else error
                guess = repair(error, guess, forward)
            if guess is None:
                break
    if told is None:
        unknown = [name for name in names(first, forward) if not options(name, forward)]
        raise NoFit(f"the tables have no shape for {', '.join(unknown) or 'any input'} of its forward")
    raise NoFit(f"{type(told).__name__}: {str(told)[:300]}") from told


class _NoLayout(Exception):
    """The try asks for a layout that the parameter does not have."""


def _tries(first: Guess, forward: Forward) -> Iterator[Guess]:
    """The given try, then every other layout of its ambiguous inputs: one input varied at a time, then two."""
    counts = {name: len(options(name, forward)) for name in names(first, forward)}
    ambiguous = [name for name, number in counts.items() if number > 1]
    ambiguous.sort(key=lambda name: name == "input_ids")  # text is the least doubtful
    yield first
    for name in ambiguous:
        for number in range(1, counts[name]):
            yield first.but(layout={**first.layout, name: number})
    for one, two in itertools.combinations(ambiguous, 2):
        for i, j in itertools.product(range(1, min(4, counts[one])), range(1, min(3, counts[two]))):
            yield first.but(layout={**first.layout, one: i, two: j})


def _run(model: torch.nn.Module, guess: Guess, forward: Forward) -> Fitted:
    written = write(guess, forward)
    if written is None:
        raise _NoLayout
    specs, sizes = written
    marks = places.mark_names(model.config.model_type, forward.parameters)
    specs = places.insert(specs, marks, _placeholders(model, specs, sizes, guess))
    specs = [places.marked(spec, model.config, forward.place) for spec in specs]
    call = {"use_cache": False} if "use_cache" in forward.parameters else {}
    fitted = Fitted(specs, sizes, {**call, **guess.call})
    for batch in BATCHES:
        run(model, fitted, {"batch": batch})
    return fitted


def _placeholders(
    model: torch.nn.Module, specs: list[dict[str, Any]], sizes: dict[str, int], guess: Guess
) -> list[tuple[int, int, int]]:
    present = {spec["name"] for spec in specs}
    if "input_ids" not in present:
        return []
    found: list[tuple[int, int, int]] = []
    given: dict[str, torch.Tensor] | None = None
    for modality, carrier, mark in places.CARRIERS:
        token = places.token_of(model.config, modality)
        if carrier not in present or token is None:
            continue
        number = guess.places.get(modality)
        if number is None:
            given = given or inputs.make({"inputs": specs, "sizes": sizes}, {"batch": 1}, SEED, torch.float32)
            number = _asked(model, modality, given)
        if number:
            found.append((token, number, mark))
    return found


def _asked(model: torch.nn.Module, modality: str, given: dict[str, torch.Tensor]) -> int | None:
    """The model's own count; a model that cannot say gets no placeholders, and its error message may count them."""
    try:
        return places.count(model, modality, given)
    except Exception:  # noqa: BLE001
        return None


def run(model: torch.nn.Module, fitted: Fitted, point: dict[str, int], other: str = "") -> Any:
    """Runs the model on the fitted inputs at a point; the input named ``other`` gets other values."""
    recipe = {"inputs": fitted.inputs, "sizes": fitted.sizes}
    given = inputs.make(recipe, point, SEED, torch.float32)
    if other:
        given[other] = inputs.make(recipe, point, SEED + 1, torch.float32)[other]
    torch.manual_seed(SEED)  # for what a model draws inside its forward
    with torch.no_grad():
        return model(**given, **fitted.call)

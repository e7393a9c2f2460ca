"""One guess: which inputs, in which layouts, with which corrections; and the recipe inputs it stands for."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from inspect import Parameter
from typing import Any

from assay_runner.introspection.modalities import required
from assay_runner.subjects.expressions import evaluate
from assay_runner.subjects.shrinking.tokens import LOW, RESERVED

from .layouts import COMPANIONS, PARAMETERS, SYMBOLS, Layout

NAME = re.compile(r"[A-Za-z_]+")


@dataclass(frozen=True)
class Forward:
    """What inputs are made for: a model class's forward and the sizes of a configuration."""

    parameters: Mapping[str, Parameter]
    modalities: frozenset[str]
    sizes: Mapping[str, int]
    vocabulary: int
    encoder_decoder: bool = False
    own: Mapping[str, Layout] = field(default_factory=dict)  # layouts that the type's own row gives
    place: tuple[Mapping[str, Any], ...] = ()  # special tokens that the text must hold


@dataclass(frozen=True)
class Guess:
    """A try, and what its failure may change for the next one."""

    wanted: tuple[str, ...]
    layout: Mapping[str, int] = field(default_factory=dict)  # which layout of a parameter
    sizes: Mapping[str, int] = field(default_factory=dict)  # corrected letters
    extra: tuple[str, ...] = ()  # parameters that a message asked for
    dropped: frozenset[str] = frozenset()
    places: Mapping[str, int] = field(default_factory=dict)  # corrected placeholder counts, by modality
    call: Mapping[str, Any] = field(default_factory=dict)

    def but(self, **changes: Any) -> Guess:
        """The same try with these fields changed."""
        return replace(self, **changes)


def options(name: str, forward: Forward) -> list[Layout]:
    """The layouts that a parameter may have in this forward, in the order they are tried."""
    if name in forward.own:
        return [forward.own[name]]
    return [layout for layout in PARAMETERS.get(name, ()) if _fits(layout, forward)]


def _fits(layout: Layout, forward: Forward) -> bool:
    if layout.only and not (layout.only in forward.modalities and "image" not in forward.modalities):
        return False
    if layout.needs and not forward.sizes.get(layout.needs):
        return False
    return not layout.beside or any(name in forward.parameters for name in layout.beside)


def names(guess: Guess, forward: Forward) -> list[str]:
    """The parameters that the try gives: wanted ones, needed ones, and those that go along with them."""
    given = dict.fromkeys([*guess.wanted, *required(forward.parameters), *guess.extra, *forward.own])
    if forward.encoder_decoder and "decoder_input_ids" in forward.parameters:
        given["decoder_input_ids"] = None
    for name, parent in COMPANIONS.items():
        if name in forward.parameters and parent in given and options(name, forward):
            given[name] = None
    return [name for name in given if name not in guess.dropped]


def write(guess: Guess, forward: Forward) -> tuple[list[dict[str, Any]], dict[str, int]] | None:
    """The recipe's inputs and sizes for the try; None when a parameter has no layout of the asked number."""
    chosen: dict[str, Layout] = {}
    for name in names(guess, forward):
        layouts, number = options(name, forward), guess.layout.get(name, 0)
        if number >= len(layouts):
            return None
        chosen[name] = layouts[number]
    letters = dict(forward.sizes)
    for layout in chosen.values():
        letters.update(layout.sets)
    letters.update(guess.sizes)
    specs = [_spec(name, layout, letters, forward.vocabulary) for name, layout in chosen.items()]
    return specs, _symbols(specs, letters)


def _symbols(specs: list[dict[str, Any]], letters: Mapping[str, int]) -> dict[str, int]:
    """The sizes of the symbols that the shapes use; a picture that is not square has numbers instead."""
    known = {**SYMBOLS, "image": letters["H"]}
    used = {word for spec in specs for entry in spec.get("shape", ()) for word in NAME.findall(str(entry))}
    sizes = {name: value for name, value in known.items() if name in used}
    if letters["H"] != letters["W"] and sizes.pop("image", None):
        for spec in specs:
            sides = iter((letters["H"], letters["W"]))
            spec["shape"] = [next(sides) if entry == "image" else entry for entry in spec.get("shape", ())]
    return sizes


def _spec(name: str, layout: Layout, letters: Mapping[str, int], vocabulary: int) -> dict[str, Any]:
    spec: dict[str, Any] = {"name": name, "kind": layout.kind, "dtype": layout.dtype}
    if layout.kind == "value":
        return {**spec, "value": _values(layout.value, letters), "per_batch": True}
    spec["shape"] = [_entry(entry, letters) for entry in layout.shape]
    if layout.kind == "ids":
        spec |= {"low": 0, "high": int(layout.high)} if layout.high else _range(vocabulary)
    if layout.grid:
        spec["grid"] = layout.grid
    if layout.flat:
        spec["flat"] = True
    if layout.place:
        spec["place"] = [{key: _entry(entry, letters) for key, entry in place.items()} for place in layout.place]
    return spec


def _range(vocabulary: int) -> dict[str, int]:
    """Ordinary words: above the special ids at the start, below those handed out at the end."""
    high = vocabulary - RESERVED if vocabulary > 2 * RESERVED else vocabulary
    return {"low": LOW if high > 2 * LOW else 0, "high": high}


def _entry(entry: int | str, letters: Mapping[str, int]) -> int | str:
    """A shape entry with its letters replaced; a number when no symbol is left."""
    if isinstance(entry, int):
        return entry
    text = NAME.sub(lambda word: str(letters.get(word[0], word[0])), entry)
    return evaluate(text, {}) if not NAME.search(text) else text


def _values(value: Any, letters: Mapping[str, int]) -> Any:
    if isinstance(value, list):
        return [_values(item, letters) for item in value]
    return _entry(value, letters) if isinstance(value, str) else value

"""Which program a model class needs, and what its recipe then says: one row for each program.

The choice is made by what a class and a configuration are, never by a type's name. What a type needs beyond that
stands in its row of `special.json`, under the program's name.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import torch

from assay_runner.introspection.type_facts import RETRIEVAL_SIZES, counts_more_than_one, walk
from assay_runner.subjects.programs import encode, generate, rag, sample, track
from assay_runner.subjects.shrinking.tokens import LOW, RESERVED

from . import places, read, special
from .search import Fitted, fit

FEW = 4  # tokens that are generated, steps in which noise is removed
MANY = 32  # documents of an index; a question reads a few of them
Values = Mapping[str, Any]


@dataclass(frozen=True)
class Plan:
    """How recipes that use a program are made."""

    program: str  # empty: a plain forward
    suits: Callable[[type, Values], bool]  # by class and configuration values
    parts: Callable[[str, Any], dict[str, Any]]  # by type and configuration: the recipe's parts
    fit: Callable[[torch.nn.Module, Values], Fitted]  # finds inputs for what the program made of a recipe
    through: bool = False  # another input must change every output, down to the last stage's
    head: str = ""  # of several heads for one task, one with a method of this name is taken
    any_size: bool = False  # also for true sizes: what it needs follows from the configuration


def _retrieves(cls: type, values: Values) -> bool:
    """Only a model that asks an index for documents has a size for the vectors it looks up."""
    return counts_more_than_one(list(walk(values)), RETRIEVAL_SIZES)


def _documents(model_type: str, config: Any) -> dict[str, Any]:
    words = read.vocabulary(config)
    size = {"documents": MANY, "tokens": 24, "low": LOW, "high": max(words - RESERVED, 2 * LOW)}
    return {rag.PART: {"class": rag.Index.__name__, "config": size}}


def _generation(model_type: str, config: Any) -> dict[str, Any]:
    return dict(special.generation(model_type).get("parts", {}))


def _answered(model: torch.nn.Module, recipe: Values) -> Fitted:
    found = _whole(model, recipe)
    return Fitted(found.inputs, found.sizes, {**found.call, "do_marginalize": True})


def _whole(model: torch.nn.Module, recipe: Values) -> Fitted:
    return fit(model, special.inputs(recipe))


def _generated(model: generate.Generation, recipe: Values) -> Fitted:
    """The first part's inputs, with what the type adds, and a call that generates few tokens and draws none."""
    row = special.generation(recipe["type"])
    found = fit(generate.first_part(model), special.inputs(recipe))
    named = row.get("names", {})
    specs = [{**spec, "name": named.get(spec["name"], spec["name"])} for spec in found.inputs]
    specs = [places.marked(spec, model.config, row.get("place", ())) for spec in specs]
    call = {**_brief(inspect.signature(model.model.generate).parameters), **row.get("call", {})}
    return Fitted([*specs, *row.get("inputs", ())], found.sizes, call)


def _sampled(model: sample.Sampling, recipe: Values) -> Fitted:
    """The model's own inputs, the numbers of its noise, and a call of few steps."""
    found = fit(model.model, special.inputs(recipe))
    noise = {"name": sample.GIVEN, "kind": "ids", "dtype": "int64", "shape": ["batch"], "low": 0, "high": 1 << 20}
    return Fitted([*found.inputs, noise], found.sizes, {**found.call, sample.STEPS: FEW})


def _brief(parameters: Mapping[str, inspect.Parameter]) -> dict[str, Any]:
    """Few tokens, the same number whatever the weights, the likeliest each time; for every part that can be told."""
    call: dict[str, Any] = {}
    for name in parameters:
        if name.endswith("max_new_tokens"):
            call |= {name: FEW, name.replace("max_new", "min_new"): FEW}
        elif name.endswith("do_sample"):
            call[name] = False
    return call


PLANS = (
    Plan("rag", _retrieves, _documents, _answered, head="marginalize", any_size=True),
    Plan("generate", lambda cls, values: generate.lacks_forward(cls), _generation, _generated, through=True),
    Plan("encode", lambda cls, values: encode.only_encodes(cls), lambda model_type, config: {}, _whole),
    Plan("sample", lambda cls, values: sample.samples(cls), lambda model_type, config: {}, _sampled),
    Plan("track", lambda cls, values: track.follows(cls), lambda model_type, config: {}, _whole, through=True),
    Plan("", lambda cls, values: True, lambda model_type, config: {}, _whole, any_size=True),
)


def choose(cls: type, values: Values) -> Plan:
    """The plan for a class with these configuration values: the first that suits."""
    return next(plan for plan in PLANS if plan.suits(cls, values))

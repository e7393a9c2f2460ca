"""Ways to see a forward, from the cheapest; the first that works is used.

A mixture of experts may loop over the experts that tokens chose, and then nothing is
known without weights. The library's other implementations of the same mixture do
their work on tensors of a fixed shape, for any choice: they are the second way. A
tiny model is small enough for the third, to be run. What none can see is reported, with
the class and the line that prevented it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import torch

from assay_runner.subjects import inputs, models, outputs
from assay_runner.subjects.programs import building

from . import feed, hollow, place
from .census import Census
from .flops import Flops
from .guise import Guise, OnDevice, present
from .liveness import Liveness
from .trace import Book, Run, Trace, plainly
from .traffic import Traffic

MOST_RUN = 50_000_000
"""The most parameters of a model that is run for its facts."""

SHAPES, CPU = "shapes", "cpu"
# Implementations of a mixture of experts whose shapes do not depend on which experts were chosen.
_FIXED = ("grouped_mm", "batched_mm")
# What configurations call the number of experts.
_COUNTS = ("num_local_experts", "num_experts", "n_routed_experts", "moe_num_experts")


@dataclass
class Seen:
    """A forward that was seen, or what of it could be."""

    model: torch.nn.Module | None = None
    method: str = ""  # SHAPES or CPU; "" when no way went through
    experts: str | None = None
    books: dict[str, Any] = field(default_factory=dict)
    given: list[dict[str, Any]] | None = None  # the inputs
    found: list[dict[str, Any]] | None = None  # the outputs
    troubles: list[str] = field(default_factory=list)  # of each way that did not go through


@dataclass(frozen=True)
class _Way:
    method: str
    experts: str | None = None

    def __str__(self) -> str:
        return (
            "run on the CPU"
            if self.method == CPU
            else "by shapes" + (f", experts {self.experts}" if self.experts else "")
        )


def see(
    recipe: Mapping[str, Any],
    point: Mapping[str, Any],
    dtype: torch.dtype = torch.float32,
    books: Mapping[str, Callable[[], Book]] | None = None,
    device: str = "",
) -> Seen:
    """The recipe's forward at a point, in a dtype, with the usual books and more. Only what has no memory is looked at
    in another dtype than float32: what runs on the CPU would show what this CPU can. With a device, the model goes the
    way it goes there (`guise`), and the books have what it computes there."""
    seen = Seen()
    for way in _ways(recipe):
        if way.method == CPU and dtype is not torch.float32:
            continue
        try:
            _go(way, recipe, point, seen, dtype, books or {}, device)
        except Exception as error:  # noqa: BLE001 - a model's own code may raise anything; the next way may do
            seen.troubles.append(f"{way}: {place.described(error)}")
            continue
        seen.method, seen.experts = way.method, _experts_of(seen.model)
        return seen
    if recipe.get("program") and not seen.troubles:
        seen.troubles.append(
            f"the program {recipe['program']!r} is more than one forward: its facts are derived only at size tiny"
        )
    return seen


def stopped(recipe: Mapping[str, Any], point: Mapping[str, Any], dtype: torch.dtype) -> str:
    """What ends a real run on the CPU in a dtype; "" when it goes through, or the model is too large to be tried."""
    if not _small(recipe):
        return ""
    try:
        _go(_Way(CPU), recipe, point, Seen(), dtype)
    except Exception as error:  # noqa: BLE001 - a model's own code may raise anything: that is what is asked for
        return f"{_Way(CPU)}: {place.described(error)}"
    return ""


def _small(recipe: Mapping[str, Any]) -> bool:
    return recipe.get("size") == "tiny" and (recipe.get("parameters") or MOST_RUN) < MOST_RUN


def _ways(recipe: Mapping[str, Any]) -> Iterator[_Way]:
    small = _small(recipe)
    if recipe.get("program"):  # more than one forward: what it runs next may depend on what came out
        yield from (_Way(CPU),) if small else ()
        return
    yield _Way(SHAPES)
    # Older releases have one implementation only, and no such question.
    choosable = getattr(models.model_class(recipe), "_can_set_experts_implementation", None)
    if choosable is not None and choosable():
        yield from (_Way(SHAPES, name) for name in _FIXED)
    if small:
        yield _Way(CPU)


def _go(
    way: _Way,
    recipe: Mapping[str, Any],
    point: Mapping[str, Any],
    seen: Seen,
    dtype: torch.dtype = torch.float32,
    more: Mapping[str, Callable[[], Book]] = MappingProxyType({}),
    device: str = "",
) -> None:
    run: Run = plainly
    with present(device):
        if way.method == CPU:
            given = inputs.make(recipe, point, 0, dtype)
            seen.model = building.build(recipe, dtype, 0).model
        else:
            run = shapes = hollow.Hollow()
            given = feed.make(recipe, point, shapes, dtype)
            seen.model = hollow.model(recipe, shapes, way.experts, dtype)
    seen.given = outputs.describe(given)
    own = [*seen.model.parameters(), *seen.model.buffers(), *given.values()]
    books = {
        "operators": Census(),
        "flops": Flops(),
        "bytes": Traffic(),
        "activations": Liveness(own),
        **{name: book() for name, book in more.items()},
    }
    torch.manual_seed(0)
    # Not inference_mode: there composite operators are not taken apart, and torch's formulas are for their parts.
    with torch.no_grad(), _told(list(books.values()), own, device) as told, Trace(run, told):
        result = seen.model(**given, **recipe.get("call", {}))
    seen.books, seen.found = books, outputs.describe(outputs.flatten(result))


@contextmanager
def _told(books: list[Book], own: Sequence[torch.Tensor], device: str) -> Iterator[list[Book]]:
    """The books, in the guise of a device if there is to be one, in which the model's own tensors are."""
    if not device:
        yield books
        return
    with present(device), Guise(device) as guise:
        guise.put(own)
        yield [OnDevice(book, guise) for book in books]


def _experts_of(model: torch.nn.Module | None) -> str | None:
    """The implementation of a mixture of experts that ran; None where the model has none."""
    config = getattr(model, "config", None)
    if not any(getattr(part, name, None) for part in _configs(config) for name in _COUNTS):
        return None
    return getattr(config, "_experts_implementation", None) or "eager"


def _configs(config: Any) -> Iterator[Any]:
    """A configuration and those inside it."""
    from transformers import PretrainedConfig

    if isinstance(config, PretrainedConfig):
        yield config
        for value in vars(config).values():
            yield from _configs(value)

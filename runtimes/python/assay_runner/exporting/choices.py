"""Which of the choices that were fixed in a trace matter.

A graph in which a choice is fixed is right for inputs that lead to the same one. But not every choice decides what
comes out: whether anything is hidden is asked to save work, and the way for inputs in which something is gives the same
numbers for the others. Such a choice shows itself: it comes out otherwise for some of the samples, and the graph is
right for all of them. And a choice that is made by a mask alone, and comes out the same for whatever mask, is none.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from assay_runner.exporting.following import line
from assay_runner.exporting.notes import Notes
from assay_runner.exporting.traces import short
from assay_runner.exporting.values import READ, asks_places
from assay_runner.subjects.samples import MASK

_MASKS = 24  # that are drawn
_GET = torch.Tensor.__getitem__

Run = Callable[[Mapping[str, torch.Tensor]], Any]
Reads = dict[str, list[Any]]
"""The lines of a model, and what each read."""


class Reading(TorchFunctionMode):
    """Keeps what each line of a model reads."""

    def __init__(self) -> None:
        super().__init__()
        self.read: dict[str, list[Any]] = defaultdict(list)

    def __torch_function__(self, func: Any, types: Any, args: tuple = (), kwargs: dict | None = None) -> Any:
        result = func(*args, **(kwargs or {}))
        if func in READ or asks_places(func, args, kwargs or {}):
            self._keep(result)
        elif func is _GET:
            parts = args[1] if isinstance(args[1], tuple) else (args[1],)
            for part in parts:
                if isinstance(part, torch.Tensor) and part.dtype is torch.bool:
                    self._keep(part)
        return result

    def _keep(self, value: Any) -> None:
        with torch._C.DisableTorchFunction():
            file, number = line()
            self.read[f"{short(file)}:{number}"].append(repr(_plain(value)))


def _plain(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        return value.tolist()
    return [_plain(part) for part in value] if isinstance(value, (tuple, list)) else value


def settle(notes: Notes, run: Run, samples: Collection[Mapping[str, torch.Tensor]]) -> None:
    """Leaves those choices out of the notes that do not matter to a graph that is right for all samples."""
    if not notes.choices:
        return
    heard = [_read(run, given) for given in samples]
    harmless = {place for place in notes.choices if len(_answers(heard, place)) > 1}
    masked = {place for place, sources in notes.choices.items() if all(map(MASK.fullmatch, sources))}
    if masked - harmless:
        more = _masked_reads(run, next(iter(samples)))
        harmless |= {
            place for place in masked if all(place in read for read in more) and len(_answers(more, place)) == 1
        }
    notes.forget(harmless)


def _answers(heard: Sequence[Reads], place: str) -> set[str]:
    """What a line read, where it was come to at all."""
    return {repr(read[place]) for read in heard if place in read}


def _masked_reads(run: Run, first: Mapping[str, torch.Tensor]) -> list[Reads]:
    """What is read with masks of all kinds. Of a model that refuses some of them nothing is known: one that read
    nothing stands for them."""
    try:
        return [_read(run, given) for given in _masked(first)]
    except Exception:  # noqa: BLE001 - whatever it is, the model does not take such a mask
        return [{}]


def _read(run: Run, given: Mapping[str, torch.Tensor]) -> Reads:
    with Reading() as reading:
        run({name: t.clone() for name, t in given.items()})
    return dict(reading.read)


def _masked(first: Mapping[str, torch.Tensor]) -> Iterator[dict[str, torch.Tensor]]:
    """The same inputs with masks that hide anything, but for the first and the last position."""
    draw = torch.Generator().manual_seed(_MASKS)
    names = [name for name in first if MASK.fullmatch(name) and first[name].dim() > 1]
    for _ in range(_MASKS):
        made = dict(first)
        for name in names:
            mask = torch.rand(first[name].shape, generator=draw) < 0.7
            mask[..., 0] = mask[..., -1] = True
            made[name] = mask.to(first[name].dtype)
        yield made

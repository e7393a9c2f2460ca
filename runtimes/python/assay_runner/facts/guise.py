"""Tensors that say they are on a device that is not here, so that a model's code goes the way it goes there.

Libraries ask tensors for their device: diffusers computes its rotations in float64, but not on MPS. A trace of CPU
tensors sees float64, and what follows from it is false. In a guise the tensors of the model say that they are on the
other device, what is computed from them says so too, and what a model makes on the CPU (a scheduler's table) does not.
Everything still runs on the CPU.

A call of Python is judged as a whole: what torch's own functions look at inside is the CPU.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensor
from torch.overrides import TorchFunctionMode

from assay_runner.subjects.replacing import replaced

from .trace import Book, Call, tensors

_CPU = torch.device("cpu")
_MARK = "_assay_guise"
_MOVES = (torch.Tensor.to, torch.Tensor.type_as)


class Guise(TorchFunctionMode):
    """Inside it, tensors that were `put` on the device say that they are there."""

    def __init__(self, device: str) -> None:
        super().__init__()
        self._device = torch.device(device, 0)
        # Whether what is computed now is computed on the device.
        self.there = False
        self._open = ExitStack()

    def put(self, values: Iterable[torch.Tensor]) -> None:
        """Puts tensors on the device."""
        for value in values:
            setattr(value, _MARK, self._device)

    def __enter__(self) -> Guise:
        self._open.enter_context(replaced(FakeTensor, "device", self._asked))
        super().__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        super().__exit__(*error)
        self._open.close()

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if func is torch.device:  # it comes here too
            return func(*args, **kwargs)
        asked = getattr(getattr(func, "__self__", None), "__name__", "")
        if asked == "device" and getattr(func, "__name__", "") == "__get__":
            return _place(args[0]) or func(*args, **kwargs)
        if asked.startswith("is_") and asked[3:] in (self._device.type, "cpu") and func.__name__ == "__get__":
            return (_place(args[0]) or _CPU).type == asked[3:]
        return self._computed(func, args, kwargs)

    def _computed(self, func: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        given = list(tensors((args, kwargs)))
        # Of a tensor that is indexed, not of the indices: torch reads a single one of these to index on the CPU.
        placed = any(map(_place, args[:1] if func is torch.Tensor.__getitem__ else given))
        device = self._wanted(func, args, kwargs)
        there = device.type == self._device.type if device else placed
        # A copy to the device, with its change of dtype, is made here.
        before, self.there = self.there, there and (placed or not given)
        try:
            result = func(*map(self._here, args), **{name: self._here(value) for name, value in kwargs.items()})
            return self._moved(result, given, there) if device else self._told(result, there)
        finally:
            self.there = before

    def _wanted(self, func: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> torch.device | None:
        """The device that a call names."""
        if func is torch.Tensor.cpu:
            return _CPU
        for value in (kwargs.get("device"), *(args[1:] if func in _MOVES else ())):
            if isinstance(value, torch.device):
                return value
            if isinstance(value, torch.Tensor):
                return _place(value) or _CPU
            if isinstance(value, str):
                return torch.device(value)
        return None

    def _here(self, value: Any) -> Any:
        """An argument as torch can take it here."""
        if isinstance(value, torch.device) and value.type == self._device.type:
            return _CPU
        if isinstance(value, str) and value.split(":")[0] == self._device.type:
            return "cpu"
        return value

    def _told(self, result: Any, there: bool) -> Any:
        if there:
            self.put(tensors(result))
        return result

    def _moved(self, result: Any, given: Sequence[torch.Tensor], there: bool) -> Any:
        """What came of a move. A tensor that torch did not have to copy is another one there: it gets a view."""
        if isinstance(result, torch.Tensor) and any(result is one for one in given):
            if bool(_place(result)) is there:
                return result
            result = result.view(result.shape)
        for one in tensors(result):
            setattr(one, _MARK, self._device if there else None)
        return result

    def _asked(self, own: Any) -> property:
        """The device of a tensor without memory, which does not come to this mode: torch itself is told what is so."""

        def device(tensor: FakeTensor) -> torch.device:
            caller = sys._getframe(1).f_globals.get("__name__", "")
            real: torch.device = own.fget(tensor)
            return real if caller.split(".")[0] == "torch" else _place(tensor) or real

        return property(device, own.fset)


@contextmanager
def present(device: str) -> Iterator[None]:
    """Inside, torch says that it has the device: some models ask for it when they are made."""
    backend = getattr(torch.backends, device, None)
    with replaced(backend, "is_available", lambda own: lambda: True):
        yield


def _place(tensor: Any) -> torch.device | None:
    """The device that a tensor says it is on, if that is not its own."""
    place: torch.device | None = getattr(tensor, _MARK, None)
    return place


class OnDevice:
    """A book that is told only of what is computed on the guise's device.

    A single value from the CPU is a number there, whatever its dtype.
    """

    def __init__(self, book: Book, guise: Guise) -> None:
        self._book, self._guise = book, guise

    def see(self, call: Call) -> None:
        """Passes a call on, or not."""
        if self._guise.there:
            self._book.see(replace(call, inputs=[t for t in call.inputs if t.dim() or _place(t)]))

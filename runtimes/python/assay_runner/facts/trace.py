"""Every operator of a forward, as the dispatcher sees it, told to whoever keeps a book."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import torch

from assay_runner.subjects.dispatching import Mode

Run = Callable[[Any, Sequence[Any], Mapping[str, Any]], Any]
"""Carries an operator out."""


@dataclass
class Call:
    """One operator that was run."""

    operator: Any  # torch._ops.OpOverload
    args: Sequence[Any]
    kwargs: Mapping[str, Any]
    result: Any
    inputs: list[torch.Tensor]
    outputs: list[torch.Tensor]
    into: list[torch.Tensor]  # the arguments that it wrote into

    @property
    def name(self) -> str:
        """Namespace, operator and overload: ``aten.addmm.default``."""
        return str(self.operator)

    @cached_property
    def view(self) -> bool:
        """Whether the result is another look at an argument's memory: no work."""
        if self.operator.is_view or self.into:
            return self.operator.is_view
        memory = {storage_key(t) for t in self.inputs}
        return bool(memory) and any(storage_key(t) in memory for t in self.outputs)


class Book(Protocol):
    """Keeps account of calls, in their order."""

    def see(self, call: Call) -> None:
        """Is told of one call, right after it."""


class Trace(Mode):
    """Carries operators out by `run` and tells the books of each."""

    def __init__(self, run: Run, books: Sequence[Book]) -> None:
        super().__init__()
        self._run, self._books = run, books

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if func.namespace == "prim":  # asks for a tensor's device: no operator of the model
            return func(*args, **kwargs)
        result = self._run(func, args, kwargs)
        into = list(written(func, args, kwargs))
        call = Call(func, args, kwargs, result, list(tensors((args, kwargs))), list(tensors(result)), into)
        for book in self._books:
            book.see(call)
        return result


def plainly(func: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    """Carries an operator out as it is: for a run with real values."""
    return func(*args, **kwargs)


def storage_key(tensor: torch.Tensor) -> int:
    """Names the memory of a tensor for as long as it lives."""
    return tensor.untyped_storage()._cdata


def tensors(value: Any) -> Iterator[torch.Tensor]:
    """The tensors inside an operator's arguments or result."""
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from tensors(item)
    elif isinstance(value, (tuple, list)):
        for item in value:
            yield from tensors(item)


def written(func: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Iterator[torch.Tensor]:
    """The arguments that an operator writes into."""
    if not func._schema.is_mutable:
        return
    for index, argument in enumerate(func._schema.arguments):
        if argument.alias_info is not None and argument.alias_info.is_write:
            value = args[index] if index < len(args) else kwargs.get(argument.name)
            yield from tensors(value)

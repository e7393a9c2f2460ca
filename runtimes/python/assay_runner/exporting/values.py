"""The values that traced tensors have in this call.

Some models decide by what they compute: whether any token is padding, where the tokens of an image stand, how long a
sentence will sound. No graph of fixed shapes can leave that open. Inside `Valued` a second forward with real numbers
runs beside the trace: each traced tensor carries the value that it has in the call that is exported. Where the model
reads a number it gets that one, and the graph has it as a constant; where it asks for the places of a mask it gets as
many as there are, which the graph finds (`whereabouts`).

Such a graph is right for inputs that lead to the same choices, and only for those. So this is the last resort, the
lines that read and the inputs that decided are noted, and nothing else is fixed: what is read goes on as a known
value (`following`), all other tensors stay traced.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

import torch
from torch.overrides import TorchFunctionMode
from torch.utils import _pytree as pytree
from torch.utils._python_dispatch import _disable_current_modes

from assay_runner.exporting import whereabouts
from assay_runner.exporting.following import INDEXED, REPEATED, SIZED, is_number, is_whole, known, line
from assay_runner.exporting.notes import Notes
from assay_runner.exporting.traces import short

_T = torch.Tensor
# What gives numbers, a tensor whose shape depends on values, or one that is drawn.
READ = frozenset(
    {_T.__bool__, _T.__int__, _T.__float__, _T.__index__, _T.item, _T.tolist, _T.__contains__, torch.equal}
    | {torch.allclose, _T.allclose, _T.equal, torch.nonzero, _T.nonzero, torch.unique, _T.unique}
    | {torch.unique_consecutive, _T.unique_consecutive, torch.argwhere, _T.argwhere, torch.multinomial}
)
_WHERE = torch.where  # torch's own: transformers' exporter puts another one in its place while it traces
_NONZERO = frozenset({torch.nonzero, _T.nonzero})
_PUT = frozenset({torch.index_put, _T.index_put})
_VALUE = "_assay_value"  # on a traced tensor


@dataclass(frozen=True)
class Value:
    """What a tensor is in this call, and from which inputs it follows."""

    tensor: torch.Tensor
    sources: frozenset[str] = frozenset()


class Valued(TorchFunctionMode):
    """Inside, traced tensors carry their values, and what is read of them is noted."""

    def __init__(self, notes: Notes) -> None:
        super().__init__()
        self._notes = notes

    def __torch_function__(self, func: Any, types: Any, args: tuple = (), kwargs: dict | None = None) -> Any:
        kwargs = kwargs or {}
        if _asks_axes(func, args, kwargs) and _reads_traced(args[:1]):
            return self._places(args[0])
        if (func in READ or asks_places(func, args, kwargs)) and _reads_traced(args):
            args, kwargs = pytree.tree_map(self._value, (args, kwargs))
            with _apart():
                return func(*args, **kwargs)
        if func in SIZED or func in REPEATED:
            args, kwargs = pytree.tree_map(self._number if func in SIZED else self._whole, (args, kwargs))
        if func in INDEXED:
            args = self._indexed(*args)
        values = _values(func, (args, kwargs))
        laid = whereabouts.written(*_put(*args, **kwargs)) if func in _PUT else None
        result = func(*args, **kwargs) if laid is None else laid
        _follow(args[0] if func is _T.__setitem__ else result, func, values)
        return result

    def _places(self, mask: torch.Tensor) -> tuple[torch.Tensor, ...]:
        """The places of a mask, of which the number is that of this call."""
        real, sources = self._value(mask), getattr(mask, _VALUE).sources
        with _apart():
            known_ones = real.nonzero(as_tuple=True)
        found = whereabouts.found(mask, known_ones[0].shape[0])
        for along, value in zip(found, known_ones, strict=True):
            setattr(along, _VALUE, Value(value, sources))
        return found

    def _value(self, leaf: Any) -> Any:
        """A traced tensor's value; anything else, and what has none, as it is."""
        value = getattr(leaf, _VALUE, None) if _traced(leaf) else None
        if value is None:
            return leaf
        if value.sources:  # what follows from weights alone is the same for all inputs
            file, number = line()
            self._notes.read(f"{short(file)}:{number}", value.sources)
        with _apart():
            return value.tensor.clone()

    def _whole(self, leaf: Any) -> Any:
        return self._value(leaf) if _traced(leaf) and is_whole(leaf) else leaf

    def _number(self, leaf: Any) -> Any:
        """The same of a tensor of one whole number. `following` then takes it as such."""
        return self._value(leaf) if _traced(leaf) and is_number(leaf) else leaf

    def _indexed(self, tensor: torch.Tensor, index: Any, *value: Any) -> tuple:
        """An access of which bounds and the places of masks are known. A mask under which one number is written has
        the shape of its tensor and can stay."""
        stays = bool(value) and not (isinstance(value[0], torch.Tensor) and value[0].dim())
        parts = index if isinstance(index, tuple) else (index,)
        found = tuple(self._part(part, stays) for part in parts)
        return (tensor, found if isinstance(index, tuple) else found[0], *value)

    def _part(self, part: Any, stays: bool) -> Any:
        if isinstance(part, slice):
            bounds = (part.start, part.stop, part.step)
            return slice(*map(self._number, bounds))
        return self._value(part) if _traced(part) and part.dtype is torch.bool and not stays else part


Beside = Callable[[Mapping[str, torch.Tensor]], Valued]
"""Begins a second forward beside a trace of these inputs."""


def beside(model: torch.nn.Module, real: Mapping[str, torch.Tensor], notes: Notes) -> Beside:
    """What gives traced inputs and weights the values of the real inputs and of the weights that a model has now.
    Inputs and buffers are copied: a model may write into them."""
    weights = {name: p.detach() for name, p in model.named_parameters(remove_duplicate=False)}
    weights |= {name: b.detach().clone() for name, b in model.named_buffers(remove_duplicate=False)}

    def begin(traced: Mapping[str, torch.Tensor]) -> Valued:
        for found in (model.named_parameters, model.named_buffers):
            for name, tensor in found(remove_duplicate=False):
                if _traced(tensor) and name in weights:
                    setattr(tensor, _VALUE, Value(weights[name]))
        for name, tensor in traced.items():
            setattr(tensor, _VALUE, Value(real[name].clone(), frozenset({name})))
        return Valued(notes)

    return begin


def _values(func: Any, tree: Any) -> tuple[Any, frozenset[str]] | None:
    """The same arguments with values in place of traced tensors, and their sources; None where one is not known."""
    leaves = pytree.tree_leaves(tree)
    traced = [leaf for leaf in leaves if _traced(leaf)]
    found = [getattr(leaf, _VALUE, None) for leaf in traced]
    if None in found or any(isinstance(leaf, (torch.SymInt, torch.SymFloat, torch.SymBool)) for leaf in leaves):
        return None
    real = pytree.tree_map(lambda leaf: getattr(leaf, _VALUE).tensor if _traced(leaf) else leaf, tree)
    return real, frozenset().union(*(value.sources for value in found if not _shapes_only(func)))


def _shapes_only(func: Any) -> bool:
    """Whether a function takes shape and dtype of a tensor and none of its values."""
    name = getattr(func, "__name__", "")
    return name.startswith("new_") or name in ("zeros_like", "ones_like", "empty_like")


def _follow(result: Any, func: Any, values: tuple[Any, frozenset[str]] | None) -> None:
    """Gives the tensors of a traced result their values. Those that have none now lose what they had before: the
    result may be a tensor that was written into."""
    traced = pytree.tree_leaves(result)
    if not any(map(_traced, traced)):
        return
    found = _computed(func, *values[0]) if values else []
    for tensor, value in zip_longest(traced, found):
        if not _traced(tensor):
            continue
        if isinstance(value, torch.Tensor):
            setattr(tensor, _VALUE, Value(value, values[1]))
        else:
            vars(tensor).pop(_VALUE, None)


def _computed(func: Any, args: tuple, kwargs: dict) -> list[Any]:
    """The leaves of a result beside the trace; of a tensor that was written into, itself."""
    try:
        with _apart():
            result = func(*args, **kwargs)
    except Exception:  # noqa: BLE001 - what cannot be computed beside the trace has no value there, and no more
        return []
    return pytree.tree_leaves(args[0] if func is _T.__setitem__ else result)


@contextmanager
def _apart() -> Iterator[None]:
    """Inside, tensors are computed and nothing is traced."""
    with torch._C.DisableTorchFunction(), _disable_current_modes(), torch.no_grad():
        yield


def _traced(leaf: Any) -> bool:
    return isinstance(leaf, torch.Tensor) and type(leaf) is not torch.nn.Parameter and not known(leaf)


def _reads_traced(args: tuple) -> bool:
    tensors = [leaf for leaf in pytree.tree_leaves(args) if _traced(leaf)]
    return bool(tensors) and all(hasattr(tensor, _VALUE) for tensor in tensors)


def _put(tensor: torch.Tensor, indices: Any = (), values: Any = None, accumulate: bool = False) -> tuple[Any, Any, Any]:
    """What `index_put` is told; nothing is written where it adds."""
    return tensor, indices, None if accumulate else values


def _asks_axes(func: Any, args: tuple, kwargs: dict) -> bool:
    """Whether the places of a mask are asked for, axis by axis."""
    return asks_places(func, args, kwargs) or (func in _NONZERO and len(args) == 1 and kwargs == {"as_tuple": True})


def asks_places(func: Any, args: tuple, kwargs: dict) -> bool:
    """Whether `where` is asked for the places of a mask."""
    return func is _WHERE and len(args) == 1 and not kwargs

"""Follows known values through a trace.

torch.export knows shapes and no values: a model that reads a number out of a tensor, to loop or to slice by it, stops
it. Much of what models read is known though, since it follows from constants alone: positions, offsets of windows,
masks. Inside `Known` such tensors are real ones. What is computed from them only is computed at once, with its true
numbers; where they meet traced tensors they become constants of the graph. Noise is known in the same way: it is
drawn as an ordinary call draws it.

A model may also make a table of zeros and fill it with what it computes. Such a table must be traced from its
beginning. It is noticed when it is filled, by `Filled`, which names the line that made it; the trace is then begun
again without that line (`retraced`).
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import torch
from torch._subclasses.fake_tensor import FakeTensor
from torch.overrides import TorchFunctionMode
from torch.utils import _pytree as pytree
from torch.utils._python_dispatch import _disable_current_modes

_COUNTED = frozenset({torch.arange, torch.tensor, torch.as_tensor, torch.randint, torch.randperm})
_TABLES = frozenset(
    {torch.zeros, torch.ones, torch.full, torch.empty, torch.eye}
    | {torch.zeros_like, torch.ones_like, torch.full_like, torch.empty_like}
)


def _rand_strided(shape: tuple, stride: tuple, **kwargs: Any) -> torch.Tensor:
    return torch.empty_strided(shape, stride, **kwargs).uniform_()


def _randn_strided(shape: tuple, stride: tuple, **kwargs: Any) -> torch.Tensor:
    return torch.empty_strided(shape, stride, **kwargs).normal_()


# What is drawn like a tensor is drawn in the order in which its numbers lie in memory.
_DRAWN_LIKE: Mapping[Any, Callable[..., torch.Tensor]] = {
    torch.rand_like: _rand_strided,
    torch.randn_like: _randn_strided,
}
_DRAWN = frozenset({torch.rand, torch.randn, torch.normal, *_DRAWN_LIKE.values()})
_WHOLE = frozenset(
    {bool, int, torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64}
)  # Python's own types are names of dtypes too
INDEXED = frozenset({torch.Tensor.__getitem__, torch.Tensor.__setitem__})
_HERE = Path(__file__).parent
_NOT_OF_MODELS = (f"{Path(torch.__file__).parent}/", f"{_HERE}/", f"{_HERE.parent / 'engines'}/")
# What takes sizes, which may be tensors of one whole number.
SIZED = frozenset(
    {torch.arange, torch.zeros, torch.ones, torch.empty, torch.full, torch.linspace, torch.split, torch.narrow}
    | {
        torch.Tensor.view,
        torch.Tensor.reshape,
        torch.Tensor.expand,
        torch.Tensor.repeat,
        torch.Tensor.split,
        torch.Tensor.narrow,
        torch.Tensor.new_zeros,
        torch.Tensor.new_ones,
        torch.Tensor.new_full,
    }
    | {torch.Tensor.new_empty, torch.nn.functional.interpolate, torch.nn.functional.pad}
)
REPEATED = frozenset({torch.repeat_interleave, torch.Tensor.repeat_interleave})
_MOST_LINES = 20
_LINE = "_assay_line"  # on a known table: the line that made it

Place = tuple[str, int]
T = TypeVar("T")


class Filled(Exception):
    """A known table is filled with traced values."""

    def __init__(self, place: Place) -> None:
        super().__init__(f"a table made at {place[0]}:{place[1]} is filled with what the model computes")
        self.place = place


class Known(TorchFunctionMode):
    """Inside, what follows from known values is computed and not traced, but for tables made at the given lines."""

    def __init__(self, traced: frozenset[Place] = frozenset()) -> None:
        super().__init__()
        self._traced = traced

    def __torch_function__(self, func: Any, types: Any, args: tuple = (), kwargs: dict | None = None) -> Any:
        kwargs = kwargs or {}
        if func in _DRAWN_LIKE:
            func, args, kwargs = _drawn_like(func, args, kwargs)
        leaves = pytree.tree_leaves((args, kwargs))
        place = line() if func in _TABLES or func in _COUNTED else None
        if place in self._traced or not _follows(func, args, kwargs, leaves):
            _refuse_filling(func, args)
            return _traced(func, args, kwargs)
        with _disable_current_modes():
            return _marked(func(*args, **kwargs), place, leaves)


def retraced(trace: Callable[[frozenset[Place]], T]) -> T:
    """What a trace gives when it is told which lines make tables that are filled, found out one by one."""
    lines: frozenset[Place] = frozenset()
    while True:
        try:
            return trace(lines)
        except Exception as error:
            found = _filled(error)
            if found is None or found.place in lines or len(lines) == _MOST_LINES:
                raise
            lines |= {found.place}


def _filled(error: BaseException | None) -> Filled | None:
    while error is not None and not isinstance(error, Filled):
        error = error.__cause__ or error.__context__
    return error


def _follows(func: Any, args: tuple, kwargs: dict, leaves: list[Any]) -> bool:
    if any(isinstance(leaf, (torch.SymInt, torch.SymFloat, torch.SymBool)) for leaf in leaves):
        return False
    tensors = [leaf for leaf in leaves if isinstance(leaf, torch.Tensor)]
    if tensors:
        return all(map(known, tensors))
    return func in _COUNTED or func in _DRAWN or (func in _TABLES and _kept(args, kwargs.get("dtype")))


def _kept(args: tuple, dtype: torch.dtype | type | None) -> bool:
    """Whether a table is known as it is made. Those of floats are traced from the first, since they are there to be
    filled, but for single numbers."""
    single = bool(args) and isinstance(args[0], (tuple, list)) and not args[0]
    return single or dtype in _WHOLE


def known(tensor: torch.Tensor) -> bool:
    """Whether a tensor has values: it is not being traced."""
    wrapped = torch._C._functorch.is_functorch_wrapped_tensor(tensor)
    return type(tensor) is torch.Tensor and not isinstance(tensor, FakeTensor) and not wrapped


def line() -> Place:
    """The line outside of torch, and of this package, that is being carried out."""
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_NOT_OF_MODELS):
        frame = frame.f_back
    return frame.f_code.co_filename, frame.f_lineno


def _marked(result: Any, place: Place | None, leaves: list[Any]) -> Any:
    """The result, its tensors marked with the line that made the table that they are or come from."""
    place = place or next((mark for leaf in leaves if (mark := getattr(leaf, _LINE, None))), None)
    for tensor in pytree.tree_leaves(result) if place else ():
        if isinstance(tensor, torch.Tensor):
            setattr(tensor, _LINE, place)
    return result


def _refuse_filling(func: Any, args: tuple) -> None:
    name = getattr(func, "__name__", "")
    fills = name == "__setitem__" or (name.endswith("_") and not name.startswith("_")) or name in _IN_PLACE
    if fills and args and (place := getattr(args[0], _LINE, None)):
        raise Filled(place)


_IN_PLACE = frozenset("__iadd__ __isub__ __imul__ __iand__ __ior__ __ixor__ __itruediv__ __ifloordiv__".split())


def _traced(func: Any, args: tuple, kwargs: dict) -> Any:
    """Calls what is traced. Known places and sizes are told as such: a converter would take them for computed ones."""
    if func in INDEXED:
        return func(*_counted(args), **kwargs)
    if func in REPEATED:
        return _repeated(func, *args, **kwargs)
    if func in SIZED:
        args, kwargs = pytree.tree_map(_number, (args, kwargs))
    return func(*args, **kwargs)


def _repeated(func: Any, tensor: torch.Tensor, repeats: Any, dim: int | None = None, **kwargs: Any) -> torch.Tensor:
    """Known repetitions are places as well."""
    if not (isinstance(repeats, torch.Tensor) and known(repeats)):
        return func(tensor, repeats, dim, **kwargs)
    along = tensor.flatten() if dim is None else tensor
    axis = 0 if dim is None else dim
    with _disable_current_modes():
        places = torch.arange(along.shape[axis]).repeat_interleave(repeats)
    return along.index_select(axis, places)


def _number(leaf: Any) -> Any:
    if not (isinstance(leaf, torch.Tensor) and known(leaf) and is_number(leaf)):
        return leaf
    with _disable_current_modes():
        return leaf.item()


def is_number(tensor: torch.Tensor) -> bool:
    """Whether a tensor is one whole number."""
    return tensor.dim() == 0 and tensor.dtype is not torch.bool and is_whole(tensor)


def is_whole(tensor: torch.Tensor) -> bool:
    """Whether a tensor has whole numbers or booleans."""
    return not (tensor.is_floating_point() or tensor.is_complex())


def _counted(args: tuple) -> tuple:
    """The same access with known masks turned into the places that they choose: how many is then no question. Places
    that are given one by one become a tensor, since their numbers cannot be read."""
    tensor, index, *value = args
    parts = tuple(map(_together, index if isinstance(index, tuple) else (index,)))
    with _disable_current_modes():
        chosen = [part.nonzero(as_tuple=True) if _mask(part) else (part,) for part in parts]
    return (tensor, tuple(part for places in chosen for part in places), *value)


def _together(index: Any) -> Any:
    if isinstance(index, (tuple, list)) and index and all(isinstance(place, torch.Tensor) for place in index):
        return torch.stack(list(index))
    return index


def _mask(index: Any) -> bool:
    return isinstance(index, torch.Tensor) and index.dtype is torch.bool and index.dim() > 0 and known(index)


def _drawn_like(func: Any, args: tuple, kwargs: dict) -> tuple[Any, tuple, dict]:
    like = args[0]
    return _DRAWN_LIKE[func], (tuple(like.shape), tuple(like.stride())), {"dtype": like.dtype, **kwargs}

"""Follows known values through a trace.

torch.export knows shapes and no values: a model that reads a number out of a tensor, to loop or to slice by it, stops
it. Much of what models read is known though, since it follows from constants alone: positions, offsets of windows,
masks. Inside `Known` such tensors are real ones. What is computed from them only is computed at once, with its true
numbers; where they meet traced tensors they become constants of the graph. Noise is known in the same way: it is
drawn as an ordinary call draws it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensor
from torch.overrides import TorchFunctionMode
from torch.utils import _pytree as pytree
from torch.utils._python_dispatch import _disable_current_modes

_COUNTED = frozenset({torch.arange, torch.tensor, torch.as_tensor, torch.randint, torch.randperm})
_FILLED = frozenset({torch.zeros, torch.ones, torch.full, torch.empty, torch.eye})
_DRAWN = frozenset({torch.rand, torch.randn, torch.normal})
_DRAWN_LIKE: Mapping[Any, Callable[..., torch.Tensor]] = {torch.rand_like: torch.rand, torch.randn_like: torch.randn}
_INDEXED = frozenset({torch.Tensor.__getitem__, torch.Tensor.__setitem__})


class Known(TorchFunctionMode):
    """Inside, what follows from known values is computed and not traced."""

    def __torch_function__(self, func: Any, types: Any, args: tuple = (), kwargs: dict | None = None) -> Any:
        kwargs = kwargs or {}
        if func in _DRAWN_LIKE:
            func, args, kwargs = _drawn_like(func, args, kwargs)
        if not _follows(func, args, kwargs):
            return func(*_counted(args) if func in _INDEXED else args, **kwargs)
        with _disable_current_modes():
            return func(*args, **kwargs)


def _follows(func: Any, args: tuple, kwargs: dict) -> bool:
    leaves = list(pytree.tree_leaves((args, kwargs)))
    if any(isinstance(leaf, (torch.SymInt, torch.SymFloat, torch.SymBool)) for leaf in leaves):
        return False
    tensors = [leaf for leaf in leaves if isinstance(leaf, torch.Tensor)]
    if tensors:
        return all(map(_known, tensors))
    return func in _COUNTED or func in _DRAWN or (func in _FILLED and _whole(kwargs.get("dtype")))


def _whole(dtype: torch.dtype | None) -> bool:
    """Tables of floats are traced: models fill them with what they compute, which a known tensor cannot take."""
    return dtype is not None and not (dtype.is_floating_point or dtype.is_complex)


def _known(tensor: torch.Tensor) -> bool:
    wrapped = torch._C._functorch.is_functorch_wrapped_tensor(tensor)
    return type(tensor) is torch.Tensor and not isinstance(tensor, FakeTensor) and not wrapped


def _counted(args: tuple) -> tuple:
    """The same access with known masks turned into the places that they choose: how many is then no question."""
    tensor, index, *value = args
    parts = index if isinstance(index, tuple) else (index,)
    with _disable_current_modes():
        chosen = [p.nonzero(as_tuple=True) if _mask(p) else (p,) for p in parts]
    return (tensor, tuple(part for places in chosen for part in places), *value)


def _mask(index: Any) -> bool:
    return isinstance(index, torch.Tensor) and index.dtype is torch.bool and index.dim() > 0 and _known(index)


def _drawn_like(func: Any, args: tuple, kwargs: dict) -> tuple[Any, tuple, dict]:
    like = args[0]
    return _DRAWN_LIKE[func], (tuple(like.shape),), {"dtype": like.dtype, **kwargs}

"""Tensors without memory, and models built of them.

Torch's own ``FakeTensor`` is such a tensor: it knows shape, dtype, strides and the
device it stands for, and every operator works on it. It is used only for what has no
values to begin with (weights) and for what was computed from that. All else is
computed for real as long as it stays small, which is what lets a forward look at its
ids and masks.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode

from assay_runner.subjects import models
from assay_runner.subjects.programs import building
from assay_runner.subjects.replacing import replaced

from .trace import Trace, storage_key, tensors, written

aten = torch.ops.aten

MOST_BYTES = 16 << 20
"""The most that a tensor with values may take. A mask of 4096 by 4096 fits; a larger one loses its values."""

# Their result has no values until somebody writes them.
_BLANK = {aten.empty, aten.empty_strided, aten.empty_like, aten.new_empty, aten.new_empty_strided}
# Their second argument is a list of indices, in which a mask stands for the places where it holds.
_INDEXED = {aten.index, aten.index_put, aten.index_put_, aten._unsafe_index}


class Hollow:
    """Carries operators out: with values where all arguments have them, without where one has none."""

    def __init__(self) -> None:
        self._mode = FakeTensorMode(allow_non_fake_inputs=True)
        # Memory with values into which something without values was written. Kept, so that no address is used twice.
        self._spoilt: dict[int, torch.UntypedStorage] = {}

    def __call__(self, func: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """Carry one operator out."""
        if func._overloadpacket in _BLANK or any(map(self.lacks_values, tensors((args, kwargs)))):
            return self._without_values(func, args, kwargs)
        return self._with_values(func, args, kwargs)

    def lacks_values(self, tensor: torch.Tensor) -> bool:
        """Whether there is nothing to read in a tensor."""
        return isinstance(tensor, FakeTensor) or storage_key(tensor) in self._spoilt

    def emptied(self, tensor: torch.Tensor) -> torch.Tensor:
        """The same tensor without values."""
        return self._mode.from_tensor(tensor)

    def blank(self, shape: Sequence[int], dtype: torch.dtype) -> torch.Tensor:
        """A new tensor without values."""
        with self._mode:
            return torch.empty(shape, dtype=dtype)

    def _with_values(self, func: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        # What needs values to know its shape is small: it was computed from what is small.
        with suppress(Exception), self._mode:
            shaped = func(*args, **kwargs)
            if any(t.untyped_storage().nbytes() > MOST_BYTES for t in tensors(shaped)):
                return shaped
        return func(*args, **kwargs)

    def _without_values(self, func: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        for target in written(func, args, kwargs):
            if not isinstance(target, FakeTensor):
                self._spoilt[storage_key(target)] = target.untyped_storage()
        if func._overloadpacket in _INDEXED:
            args = (args[0], self._places(args[1]), *args[2:])
        with self._mode:
            return func(*args, **kwargs)

    def _places(self, indices: Sequence[Any]) -> list[Any]:
        """The indices, with masks whose values are known as the numbers they stand for."""
        found: list[Any] = []
        for index in indices:
            if isinstance(index, torch.Tensor) and index.dtype == torch.bool and not self.lacks_values(index):
                found.extend(index.nonzero().unbind(1))
            else:
                found.append(index)
        return found


def model(
    recipe: Mapping[str, Any], run: Hollow, experts: str | None = None, dtype: torch.dtype = torch.float32
) -> torch.nn.Module:
    """The recipe's model with weights that take no memory; `experts` names an implementation of mixtures."""
    made = models.config(recipe)
    if experts is not None:
        made._experts_implementation = experts
    with building.default_dtype(dtype), Trace(run, ()), _unsampled():
        built = models.model_class(recipe)(made).eval()
    building.keep_float32(built, dtype)
    _empty_parameters(built, run)
    return built


@contextmanager
def _unsampled() -> Iterator[None]:
    """Truncated normals are not drawn inside: torch draws them by rejection, which looks at values."""
    with replaced(torch.nn.init, "_no_grad_trunc_normal_", lambda own: lambda tensor, *_, **__: tensor):
        yield


def _empty_parameters(built: torch.nn.Module, run: Hollow) -> None:
    """Takes the values of weights that were made with some. Tied ones stay tied."""
    emptied: dict[int, torch.nn.Parameter] = {}
    for module in built.modules():
        for name, parameter in module._parameters.items():
            if parameter is None or isinstance(parameter, FakeTensor):
                continue
            if id(parameter) not in emptied:
                empty = run.emptied(parameter.data)
                emptied[id(parameter)] = torch.nn.Parameter(empty, requires_grad=parameter.requires_grad)
            module._parameters[name] = emptied[id(parameter)]

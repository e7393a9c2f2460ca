"""The reference: the same weights and inputs computed in another way.

For cpu fp32 it is float64, or another attention implementation where a model
cannot run in float64; for all others it is the CPU in float32. A mixture's experts
run one by one instead of grouped, whose kernel has no float64. The model itself is
widened in place, run, and narrowed again, which is exact and needs no second
copy of the weights. What modules remember of the wide run (rotary tables, biases
by length) is forgotten with it.
"""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from types import FunctionType, MethodType
from typing import Any

import torch

from assay_runner.checking import noise
from assay_runner.subjects import experts, weights
from assay_runner.subjects.outputs import Tensors
from assay_runner.subjects.programs import building

_PARTS = (torch.nn.Module, torch.Tensor, type, FunctionType, MethodType)
_OTHER_ATTENTION = {"sdpa": "eager", "eager": "sdpa"}

Inputs = Mapping[str, torch.Tensor]
Forward = Callable[[torch.nn.Module, Inputs], Tensors]


@dataclass
class Reference:
    """One set of outputs for each point, or why there is none."""

    label: str
    outputs: list[Tensors] | None
    note: str = ""


@contextmanager
def widened(model: torch.nn.Module, dtype: torch.dtype) -> Iterator[None]:
    """Inside, every narrower float tensor of the model is of this dtype, and so are new tensors. What the model draws
    is what it draws in its own dtype."""
    drawn = drawing(model, dtype)
    floats = (t for _, t in weights.named_tensors(model) if t.is_floating_point())
    before = [(t, t.dtype) for t in floats if t.dtype.itemsize < dtype.itemsize]
    try:
        with forgetting(model):
            for t, _ in before:
                t.data = t.data.to(dtype)
            with building.default_dtype(dtype), drawn:
                yield
    finally:
        for t, own in before:
            t.data = _plain(t.data.to(own))


def _plain(t: torch.Tensor) -> torch.Tensor:
    """The tensor as one that can be traced: a layer that its model converts while it runs has weights of inference."""
    return t.clone() if t.is_inference() else t


def drawing(model: torch.nn.Module, wide: torch.dtype) -> noise.Drawn:
    """Inside, the model draws the same noise on every device, and in the reference's dtype the same as in its own, the
    one that most of its tensors have."""
    floats = Counter(t.dtype for _, t in weights.named_tensors(model) if t.is_floating_point())
    return noise.Drawn(floats.most_common(1)[0][0] if floats else wide, wide)


@contextmanager
def forgetting(model: torch.nn.Module) -> Iterator[None]:
    """Afterwards every module has the attributes, and the entries of its lists and tables, that it had before. A model
    that changes its own weights when it first runs (RWKV scales those of later layers) has to remember that it did."""
    memory, written = Memory(model), [p._version for p in model.parameters()]
    try:
        yield
    finally:
        if written == [p._version for p in model.parameters()]:
            memory.restore()


class Memory:
    """What every module has, kept once, to be given back as often as is asked for."""

    def __init__(self, model: torch.nn.Module) -> None:
        self._before = [(vars(owner), dict(vars(owner)), _held(owner)) for owner in _owners(model)]

    def restore(self) -> None:
        """Gives every module the attributes, and the entries of its lists and tables, that it had."""
        for now, then, held in self._before:
            now.clear()
            now.update(then)
            for name, entries in held.items():
                if not entries and not now[name]:
                    continue
                now[name].clear()
                (now[name].update if isinstance(entries, dict) else now[name].extend)(entries)


def _owners(model: torch.nn.Module) -> Iterator[Any]:
    """The modules, and what they keep beside their parts: caches that are classes of their own, and a configuration
    that all of them share once."""
    seen: set[int] = set()
    for module in model.modules():
        yield module
        for kept in vars(module).values():
            if hasattr(kept, "__dict__") and not isinstance(kept, _PARTS) and id(kept) not in seen:
                seen.add(id(kept))
                yield kept


def _held(owner: Any) -> dict[str, dict | list]:
    """Copies of an owner's lists and tables; those of other classes may not let themselves be set back."""
    return {name: value.copy() for name, value in vars(owner).items() if type(value) in (dict, list, OrderedDict)}


def compute(
    built: building.Built,
    narrow: bool,
    points: list[Inputs],
    forward: Forward,
    rebuild: Callable[[str], building.Built],
    available: int | None,
) -> Reference:
    """The reference outputs of every point. narrow: the cell is not cpu fp32, so float32 on the CPU serves."""
    if narrow:
        return _wide(built, torch.float32, "cpu fp32", points, forward, available)
    first = _wide(built, torch.float64, "cpu fp64", points, forward, available)
    if first.outputs is not None:
        return first
    return _other_attention(built, first.note, points, forward, rebuild, available)


def _wide(
    built: building.Built, dtype: torch.dtype, label: str, points: list[Inputs], forward: Forward, available: int | None
) -> Reference:
    held = sum(t.numel() * t.element_size() for _, t in weights.named_tensors(built.model))
    need = built.parameters * dtype.itemsize
    if available is not None and need > available + held:
        return Reference(label, None, f"the reference ({label}) needs {need / 1e9:.1f} GB, more than is free")
    try:
        with widened(built.model, dtype), experts.looped(built.model):
            found = [forward(built.model, _cast(inputs, dtype)) for inputs in points]
        if any(bool(t.isnan().any()) for tensors in found for t in tensors.values()):
            return Reference(label, None, f"the reference ({label}) gave values that are not numbers")
        return Reference(label, found)
    except Exception as err:  # whatever it is, the cell itself is yet to run and will say it better
        return Reference(label, None, f"the reference ({label}) failed: {_line(err)}")


@contextmanager
def wide(built: building.Built, dtype: torch.dtype, forward: Forward) -> Iterator[Callable[[Inputs], Tensors]]:
    """Inside, what gives the model's outputs in another dtype; whatever stops it is raised."""
    with widened(built.model, dtype), experts.looped(built.model):
        yield lambda inputs: forward(built.model, _cast(inputs, dtype))


def _other_attention(
    built: building.Built,
    why: str,
    points: list[Inputs],
    forward: Forward,
    rebuild: Callable[[str], building.Built],
    available: int | None,
) -> Reference:
    other = _OTHER_ATTENTION.get(built.attention or "", "")
    label = f"attention {other}"
    if not other or (available is not None and built.parameters * 4 > available):
        return Reference(label, None, why)
    try:
        second = rebuild(other)
        if second.attention != other:
            return Reference(label, None, why)
        return Reference(label, [forward(second.model, inputs) for inputs in points], why)
    except Exception as err:
        return Reference(label, None, f"{why}; {label} failed: {_line(err)}")


def _cast(inputs: Inputs, dtype: torch.dtype) -> dict[str, torch.Tensor]:
    return {name: t.to(dtype) if t.is_floating_point() else t for name, t in inputs.items()}


def _line(err: BaseException) -> str:
    return f"{type(err).__name__}: {err}".splitlines()[0][:200]

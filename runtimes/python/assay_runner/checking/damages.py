"""Ways to damage a model, from large to fine, each found by structure.

The large ones take a kind of part away everywhere: what mixes tokens, what works on each alone, what looks documents
up. The finer ones are the faults that engines have: one group of channels lost, positions off by one, an epsilon of
another size, a position hidden that should be seen. Parts are found by the names of their classes; within an attention
part the output projection is zeroed, by the names in the table; where none is known, everything but the norms.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any

import torch

from assay_runner.subjects.samples import MASK

Inputs = Mapping[str, torch.Tensor]

# Classes of the parts that mix tokens, of those that work on each token alone, and of those that look documents up.
PARTS = {
    "zero-index": re.compile(r"^Index$"),
    "zero-attention": re.compile(
        r"Attention|Attn|Mixer|SSM|TimeMix|LinearAttention|DeltaNet|ShortConv|FourierTransform"
    ),
    "zero-mlp": re.compile(
        r"MLP|Mlp|FeedForward|Feedforward|FFN|Intermediate|DenseReluDense|DenseAct|DenseGated|Experts|MoE"
    ),
}
OUTPUTS = frozenset(
    ["o_proj", "out_proj", "c_proj", "o", "wo", "out_lin", "proj", "projection", "dense", "to_out", "output_proj",
     "proj_out", "fc_out", "out", "linear_out", "final_linear", "output_dense"]
)  # fmt: skip
_NORM = re.compile(r"Norm")
_ROTARY = re.compile(r"Rotary|RoPE|Rope(?!r)")
_EPSILONS = ("eps", "variance_epsilon", "epsilon", "norm_eps", "layer_norm_eps", "rms_norm_eps")
_LAYERS = (torch.nn.Linear, torch.nn.modules.conv._ConvNd)
_GROUPS = 4  # of channels; one of them is lost
_TIMES = 1000.0  # an epsilon of another unit


def targets(model: torch.nn.Module, kind: str) -> list[torch.Tensor]:
    """The tensors that large damage of this kind zeroes."""
    return _distinct(tensor for part in _outermost(model, PARTS[kind]) for tensor in _DAMAGED[kind](part))


def _distinct(tensors: Iterator[torch.Tensor]) -> list[torch.Tensor]:
    return list({id(tensor): tensor for tensor in tensors}.values())


def _outermost(module: torch.nn.Module, pattern: re.Pattern[str]) -> Iterator[torch.nn.Module]:
    """The parts whose class matches and that lie in no other such part. A whole model or stack is not a part."""
    for child in module.children():
        if pattern.search(type(child).__name__) and not _is_container(child, pattern):
            yield child
        else:
            yield from _outermost(child, pattern)


def _is_container(module: torch.nn.Module, pattern: re.Pattern[str]) -> bool:
    """Classes such as MLPMixerModel or …AttentionLayer hold lists of layers, or norms beside further parts."""
    return any(isinstance(m, torch.nn.ModuleList) and len(m) > 0 and _repeats(m, pattern) for m in module.modules())


def _repeats(layers: torch.nn.ModuleList, pattern: re.Pattern[str]) -> bool:
    return any(pattern.search(type(m).__name__) for layer in layers for m in layer.modules())


def _projections(part: torch.nn.Module) -> list[torch.nn.Parameter]:
    return [
        parameter
        for name, module in part.named_modules()
        if name.rsplit(".", 1)[-1] in OUTPUTS and not any(True for _ in module.children())
        for parameter in module.parameters(recurse=False)
    ]


def _weights(part: torch.nn.Module) -> list[torch.nn.Parameter]:
    return [
        parameter
        for module in part.modules()
        if not _NORM.search(type(module).__name__)
        for parameter in module.parameters(recurse=False)
    ]


def _embeddings(part: torch.nn.Module) -> list[torch.Tensor]:
    """An index without them finds any documents."""
    return list(part.buffers())


_DAMAGED: dict[str, Callable[[torch.nn.Module], list[Any]]] = {
    "zero-index": _embeddings,
    "zero-attention": lambda part: _projections(part) or _weights(part),
    "zero-mlp": _weights,
}


@contextmanager
def zeroed(parameters: list[torch.Tensor], restore: bool = True) -> Iterator[None]:
    """These tensors are zero inside. Without restore they stay so, which needs no memory for copies."""
    kept = [p.detach().clone() for p in parameters] if restore else []
    with torch.no_grad():
        for p in parameters:
            p.zero_()
    try:
        yield
    finally:
        with torch.no_grad():
            for p, value in zip(parameters, kept, strict=False):
                p.copy_(value)


@dataclass(frozen=True)
class Damaged:
    """A model that is damaged inside a context, and the inputs that it is then given."""

    context: AbstractContextManager[Any]
    inputs: Inputs


Make = Callable[[torch.nn.Module, Inputs, bool], Damaged | None]
"""Damages a model that is run with these inputs, for good unless it is to be restored; None where it has nothing of the
kind."""


def _all(kind: str) -> Make:
    def make(model: torch.nn.Module, given: Inputs, restore: bool) -> Damaged | None:
        found = targets(model, kind)
        return Damaged(zeroed(found, restore), given) if found else None

    return make


def last(model: torch.nn.Module, kind: str) -> list[torch.Tensor]:
    """What of the last part of a kind is zeroed."""
    parts = list(_outermost(model, PARTS[kind]))
    return _distinct(iter(_DAMAGED[kind](parts[-1]))) if parts else []


def _of_last(kind: str) -> Make:
    def make(model: torch.nn.Module, given: Inputs, restore: bool) -> Damaged | None:
        found = last(model, kind)
        return Damaged(zeroed(found, restore), given) if found else None

    return make


def _channels_of_last(kind: str) -> Make:
    """One group of the channels of what the last part gives."""

    def make(model: torch.nn.Module, given: Inputs, restore: bool) -> Damaged | None:
        wide = [t for t in last(model, kind) if t.dim() > 1 and t.shape[0] >= _GROUPS]
        if not wide:
            return None
        return Damaged(zeroed([wide[-1].data[: wide[-1].shape[0] // _GROUPS]], restore), given)

    return make


def _channels_of_layer(which: float) -> Make:
    """One group of the channels of a layer, by its place among those that the model is made of."""

    def make(model: torch.nn.Module, given: Inputs, restore: bool) -> Damaged | None:
        weights = [t for t in _distinct(map(_weight, filter(_multiplies, model.modules()))) if t.shape[0] >= _GROUPS]
        if not weights:
            return None
        chosen = weights[int(which * (len(weights) - 1))]
        return Damaged(zeroed([chosen.data[: chosen.shape[0] // _GROUPS]], restore), given)

    return make


def _multiplies(module: torch.nn.Module) -> bool:
    return isinstance(module, _LAYERS) and isinstance(vars(module)["_parameters"].get("weight"), torch.Tensor)


def _weight(module: torch.nn.Module) -> torch.Tensor:
    return module.get_parameter("weight")


def _epsilon(model: torch.nn.Module, given: Inputs, restore: bool) -> Damaged | None:
    found = [(m, name, getattr(m, name)) for m in model.modules() for name in _EPSILONS if _is_epsilon(m, name)]
    return Damaged(_set(found), given) if found else None


def _is_epsilon(module: torch.nn.Module, name: str) -> bool:
    value = vars(module).get(name)
    return isinstance(value, float) and 0 < value < 1e-2


@contextmanager
def _set(rows: list[tuple[torch.nn.Module, str, float]]) -> Iterator[None]:
    for module, name, value in rows:
        setattr(module, name, value * _TIMES)
    try:
        yield
    finally:
        for module, name, value in rows:
            setattr(module, name, value)


def _rotary(model: torch.nn.Module, given: Inputs, restore: bool) -> Damaged | None:
    """The tables of positions, each row where the next one belongs."""
    found = [m for m in model.modules() if _ROTARY.search(type(m).__name__)]
    return Damaged(_rolling(found), given) if found else None


@contextmanager
def _rolling(modules: list[torch.nn.Module]) -> Iterator[None]:
    def roll(_module: torch.nn.Module, _given: Any, result: Any) -> Any:
        if isinstance(result, torch.Tensor):
            return result.roll(1, -2) if result.dim() > 1 else result
        return type(result)(t.roll(1, -2) for t in result) if _tables(result) else result

    with ExitStack() as stack:
        for module in modules:
            stack.callback(module.register_forward_hook(roll).remove)
        yield


def _tables(result: Any) -> bool:
    return type(result) in (tuple, list) and all(isinstance(t, torch.Tensor) and t.dim() > 1 for t in result)


def _hidden(model: torch.nn.Module, given: Inputs, restore: bool) -> Damaged | None:
    """The last position of the first row is hidden, where masks hide nothing."""
    masks = {name: t for name, t in given.items() if MASK.fullmatch(name) and t.dim() == 2 and bool((t == 1).all())}
    if not masks:
        return None
    changed = {name: t.clone() for name, t in masks.items()}
    for t in changed.values():
        t[0, -1] = 0
    return Damaged(nullcontext(), {**given, **changed})


TABLE: dict[str, Make] = {
    "epsilon": _epsilon,
    "one-position-hidden": _hidden,
    "positions-off-by-one": _rotary,
    "channels-of-middle-layer": _channels_of_layer(0.5),
    "channels-of-last-layer": _channels_of_layer(1.0),
    "channels-of-last-attention": _channels_of_last("zero-attention"),
    "channels-of-last-mlp": _channels_of_last("zero-mlp"),
    "last-attention": _of_last("zero-attention"),
    "last-mlp": _of_last("zero-mlp"),
    "zero-attention": _all("zero-attention"),
    "zero-mlp": _all("zero-mlp"),
    "zero-index": _all("zero-index"),
}
LASTING = {"last-attention": "zero-attention", "last-mlp": "zero-mlp"}  # by what a model at full size is damaged

"""Faults inside modules, in caches and in what is saved; and all of them."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from typing import Any
from unittest import mock

import torch

from .planted_code import Fault, Lacking, Model, patched
from .planted_masks import (
    _both_kernels,
    _call,
    _kernel,
    _late,
    _mask_given_away,
    _mask_shifted,
    _masks,
    _one_too_far,
    _open,
    _scaled,
    _unmasked,
    _unplaced,
)


def _norms(model: Model) -> list[type]:
    found = {type(m) for m in model.modules() if "norm" in type(m).__name__.lower() and hasattr(m, "weight")}
    found -= {torch.nn.BatchNorm2d, torch.nn.GroupNorm, torch.nn.BatchNorm1d}
    if not found:
        raise Lacking("it has no norm of tokens")
    return sorted(found, key=lambda cls: cls.__name__)


def _after_norms(change: Callable[[Any, torch.Tensor], torch.Tensor]) -> Callable[[Model, ExitStack], None]:
    """What a norm gives is changed."""

    def plant(model: Model, stack: ExitStack) -> None:
        for cls in _norms(model):

            def made(own: Any) -> Any:
                def forward(self: Any, x: torch.Tensor, *args: Any, **kw: Any) -> Any:
                    given = own(self, x, *args, **kw)
                    return change(self, given) if torch.is_tensor(given) and given.dim() > 1 else given

                return forward

            patched(stack, cls, "forward", made)  # fmt: skip

    return plant


def _rows_leak(module: Any, x: torch.Tensor) -> torch.Tensor:
    return x + 0.05 * x.roll(1, 0) if x.shape[0] > 1 else x


def _time_leaks(module: Any, x: torch.Tensor) -> torch.Tensor:
    return x + 0.05 * x.mean(-2, keepdim=True)


def _in_training(module: Any, x: torch.Tensor) -> torch.Tensor:
    return x * 1.05 if module.training else x


_COUNT = [0]


def _remembers(module: Any, x: torch.Tensor) -> torch.Tensor:
    _COUNT[0] += 1
    return x * (1 + 1e-4 * (_COUNT[0] % 997))


def _unseeded(module: Any, x: torch.Tensor) -> torch.Tensor:
    return x + 0.01 * torch.randn(x.shape, generator=_DRAW)


_DRAW = torch.Generator()
_DRAW.seed()


def _second_rows(module: Any, x: torch.Tensor) -> torch.Tensor:
    """A position short, in all rows but the first."""
    return torch.cat([x[:1], x[1:].roll(1, -2)]) if x.dim() > 2 and x.shape[0] > 1 else x


def _epsilon(model: Model, stack: ExitStack) -> None:
    """Every norm adds ten thousand times its epsilon."""
    for cls in _norms(model):

        def made(own: Any) -> Any:
            def forward(self: Any, *args: Any, **kw: Any) -> Any:
                names = [n for n in ("eps", "variance_epsilon") if isinstance(getattr(self, n, None), float)]
                before = {n: getattr(self, n) for n in names}
                vars(self).update({n: value * 1e4 for n, value in before.items()})
                try:
                    return own(self, *args, **kw)
                finally:
                    vars(self).update(before)

            return forward

        patched(stack, cls, "forward", made)  # fmt: skip


def _layer(when: Callable[[Any, dict[str, Any]], bool]) -> Callable[[Model, ExitStack], None]:
    """The last layer does nothing."""

    def plant(model: Model, stack: ExitStack) -> None:
        lists = [m for m in model.modules() if isinstance(m, torch.nn.ModuleList) and len(m) > 1]
        lists = [m for m in lists if len({type(part) for part in m}) == 1 and _index(m[-1]) is not None]
        if not lists:
            raise Lacking("no layers know their number")
        cls, last = type(lists[-1][-1]), _index(lists[-1][-1])

        def made(own: Any) -> Any:
            def forward(self: Any, x: torch.Tensor, *args: Any, **kw: Any) -> Any:
                given = own(self, x, *args, **kw)
                if _index(self) != last or not when(self, kw):
                    return given
                return (x, *given[1:]) if isinstance(given, tuple) else x

            return forward

        patched(stack, cls, "forward", made)

    return plant


def _index(layer: torch.nn.Module) -> int | None:
    return next((m.layer_idx for m in layer.modules() if isinstance(getattr(m, "layer_idx", None), int)), None)


def _activation(when: Callable[[Any], bool]) -> Callable[[Model, ExitStack], None]:
    """Another activation is computed."""

    def plant(model: Model, stack: ExitStack) -> None:
        from transformers.activations import ACT2CLS

        known = {cls[0] if isinstance(cls, tuple) else cls for cls in ACT2CLS.values()} - {
            torch.nn.Tanh,
            torch.nn.Sigmoid,
        }
        found = {type(m) for m in model.modules()} & known
        if not found:
            raise Lacking("it has no activation of the library's table")
        for cls in found:
            other = torch.nn.functional.gelu if "silu" in cls.__name__.lower() else torch.nn.functional.silu

            def made(own: Any, other: Any = other) -> Any:
                return lambda self, x: other(x) if when(self) else own(self, x)

            patched(stack, cls, "forward", made)  # fmt: skip

    return plant


def _always_dropping(model: Model, stack: ExitStack) -> None:
    def made(own: Any) -> Any:
        return lambda x, p=0.5, training=True, inplace=False: own(x, p, True, False)

    patched(stack, torch.nn.functional, "dropout", made)


def _cache(change: Callable[[torch.Tensor, bool], torch.Tensor]) -> Callable[[Model, ExitStack], None]:
    """What a cache gives back is not what was put in."""

    def plant(model: Model, stack: ExitStack) -> None:
        from transformers.cache_utils import DynamicLayer

        if not (hasattr(model, "can_generate") and model.can_generate()):
            raise Lacking("it does not generate")

        def made(own: Any) -> Any:
            def update(self: Any, keys: torch.Tensor, values: torch.Tensor, *args: Any, **kw: Any) -> Any:
                all_keys, all_values = own(self, keys, values, *args, **kw)
                if all_keys.shape[-2] == keys.shape[-2]:
                    return all_keys, all_values
                return change(all_keys, True), change(all_values, False)

            return update

        patched(stack, DynamicLayer, "update", made)

    return plant


def _short(t: torch.Tensor, keys: bool) -> torch.Tensor:
    made = t.clone()
    made[..., -2, :] = 0
    return made


def _untied(model: Model, stack: ExitStack) -> None:
    """A tied head is saved as zeros of its own, and is not tied when it is read."""
    from transformers import PreTrainedModel

    head = model.get_output_embeddings() if hasattr(model, "get_output_embeddings") else None
    if not getattr(model.config, "tie_word_embeddings", False) or not hasattr(head, "weight"):
        raise Lacking("its head is not tied")
    own = PreTrainedModel.tie_weights

    def tied(self: Model, *args: Any, **kw: Any) -> Any:
        given = own(self, *args, **kw)
        last = self.get_output_embeddings()
        if last is not None and self is not model and last.weight.device.type != "meta":
            last.weight = torch.nn.Parameter(torch.zeros_like(last.weight))
        return given

    stack.enter_context(mock.patch.object(PreTrainedModel, "tie_weights", tied))


def _state(change: Callable[[dict[str, torch.Tensor]], dict[str, torch.Tensor]]) -> Callable[[Model, ExitStack], None]:
    """What is saved is not what the model has."""

    def plant(model: Model, stack: ExitStack) -> None:
        patched(stack, type(model), "state_dict", lambda own: lambda self, *a, **kw: change(own(self, *a, **kw)))

    return plant


def _lost(state: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    large = [name for name, t in state.items() if t.dim() == 2 and t.is_floating_point()]
    gone = large[len(large) // 2 :][:1]
    return {name: torch.zeros_like(t) if name in gone else t for name, t in state.items()}


def _halved(state: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    return {name: t.half().to(t.dtype) if t.is_floating_point() else t for name, t in state.items()}


def _positions(model: Model, stack: ExitStack) -> None:
    """Tables of positions are read one place further."""
    tables = [m for name, m in model.named_modules() if "position" in name.rpartition(".")[2]]
    shapes = {tuple(m.weight.shape) for m in tables if isinstance(m, torch.nn.Embedding)}
    if not shapes:
        raise Lacking("it has no table of positions")

    def made(own: Any) -> Any:
        def forward(self: Any, ids: torch.Tensor) -> Any:
            there = tuple(self.weight.shape) in shapes
            return own(self, (ids + 1).clamp(max=self.weight.shape[0] - 1) if there else ids)

        return forward

    patched(stack, torch.nn.Embedding, "forward", made)


def _training(module: Any, *_: Any) -> bool:
    return module.training


FAULTS: tuple[Fault, ...] = (
    Fault("mask ignored", _masks("mask", {"attention_mask": None})),
    Fault("mask taken for ones", _call(_mask_given_away)),
    Fault("mask one position late", _call(_mask_shifted)),
    Fault("mask ignored by sdpa", _kernel("sdpa", _unmasked)),
    Fault("mask ignored by eager", _kernel("eager", _unmasked)),
    Fault("causal mask lost", _open),
    Fault("causal mask one too far", _one_too_far),
    Fault("other scale in sdpa", _kernel("sdpa", _scaled)),
    Fault("other scale in eager", _kernel("eager", _scaled)),
    Fault("positions off by one with a cache", _call(_late)),
    Fault("given positions not used", _call(_unplaced)),
    Fault("cache one short", _cache(_short)),
    Fault("keys of a cache turned", _cache(lambda t, keys: t.flip(-2) if keys else t)),
    Fault("a layer dropped with a cache", _layer(lambda layer, kw: kw.get("past_key_values") is not None)),
    Fault("a layer dropped in training", _layer(_training)),
    Fault("rows leak", _after_norms(_rows_leak)),
    Fault("second rows off by one", _after_norms(_second_rows)),
    Fault("mean over time", _after_norms(_time_leaks)),
    Fault("another number in training", _after_norms(_in_training)),
    Fault("activation other in training", _activation(_training)),
    Fault("dropout always on", _always_dropping),
    Fault("remembers earlier runs", _after_norms(_remembers)),
    Fault("noise without a seed", _after_norms(_unseeded)),
    Fault("head untied on loading", _untied),
    Fault("a tensor lost on saving", _state(_lost)),
    Fault("half precision on saving", _state(_halved)),
    Fault("epsilon changed", _epsilon, alike=True),
    Fault("a layer dropped", _layer(lambda layer, kw: True), alike=True),
    Fault("other activation", _activation(lambda module: True), alike=True),
    Fault("other scale", _both_kernels, alike=True),
    Fault("positions off by one", _positions, alike=True),
)

"""Which experts of a mixture were used, and another way to compute them.

A mixture of which one expert does all the work is tested like a plain model. So while a model runs, what its routers
chose is kept, as it reaches the experts' forward, and counted afterwards: nothing waits for a device during the run.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import cache
from typing import Any

import torch

from assay_runner.subjects.eager import EXPERTS, eager
from assay_runner.workarounds import Fault

UNGROUPED = Fault(
    "torch_groups_no_products_in_64_bits", "torch", ("2.15.0",), "the product of grouped experts has no float64"
)

# How experts' forwards name what was chosen, and how it is read: a set of numbers of experts.
_CHOICES: dict[str, Callable[[torch.Tensor, int], set[int]]] = {
    **dict.fromkeys(
        ("top_k_index", "router_indices", "router_mask", "top_experts"),
        lambda chosen, experts: {i for i in chosen.unique().tolist() if 0 <= i < experts},
    ),
    "selected_experts": lambda mask, experts: set(mask.reshape(-1, experts).any(0).nonzero().flatten().tolist()),
    "expert_size": lambda sizes, experts: set(sizes.nonzero().flatten().tolist()),
}
_COUNTS = ("num_experts", "num_local_experts", "n_routed_experts", "moe_num_experts")


class Watch:
    """The choices that were seen, by layer."""

    def __init__(self) -> None:
        self._layers: dict[str, int] = {}
        self._seen: dict[str, list[tuple[str, torch.Tensor]]] = {}

    def expect(self, layer: str, experts: int) -> None:
        """There is such a layer; it may see no token."""
        self._layers[layer] = experts

    def see(self, layer: str, name: str, chosen: Any) -> None:
        """A layer was called with this choice."""
        self._seen.setdefault(layer, []).append((name, torch.as_tensor(chosen).detach()))

    def report(self) -> dict[str, Any] | None:
        """As the protocol has it; None for a model without experts that can be watched."""
        if not self._layers:
            return None
        used = [len(self._used(layer)) for layer in self._layers]
        total = sum(self._layers.values())
        most = max(self._layers.values())
        return {"layers": len(used), "experts": most, "used": used, "used_share": sum(used) / total}

    def _used(self, layer: str) -> set[int]:
        experts = self._layers[layer]
        return set().union(*(_CHOICES[name](chosen, experts) for name, chosen in self._seen.get(layer, ())))


@contextmanager
def watching(model: torch.nn.Module) -> Iterator[Watch]:
    """Inside, what routers choose is seen."""
    watch = Watch()
    handles = []
    for layer, module, experts in layers(model):
        watch.expect(layer, experts)
        hook = _hook(watch, layer, _choice(type(module)))
        handles.append(module.register_forward_pre_hook(hook, with_kwargs=True))
    try:
        yield watch
    finally:
        for handle in handles:
            handle.remove()


def layers(model: torch.nn.Module) -> Iterator[tuple[str, torch.nn.Module, int]]:
    """The layers of experts whose forward is told what was chosen: name, module and how many experts it has."""
    for name, module in model.named_modules():
        experts = _experts(module)
        if experts and _choice(type(module)):
            yield name, module, experts


def looped(model: torch.nn.Module) -> AbstractContextManager[None]:
    """Inside, experts run one after the other as their model's own code has it, not grouped: in any dtype."""
    return eager(model, EXPERTS)


def _hook(watch: Watch, layer: str, name: str) -> Callable[..., None]:
    def seen(module: torch.nn.Module, args: Any, kwargs: Any) -> None:
        place = _place(type(module), name)
        chosen = kwargs[name] if name in kwargs else args[place] if place < len(args) else None
        if chosen is not None:
            watch.see(layer, name, chosen)

    return seen


@cache
def _choice(cls: type) -> str:
    """The parameter of a forward that says which experts were chosen; empty where there is none."""
    if cls.forward is torch.nn.Module.forward:
        return ""
    return next((name for name in inspect.signature(cls.forward).parameters if name in _CHOICES), "")


@cache
def _place(cls: type, name: str) -> int:
    return list(inspect.signature(cls.forward).parameters).index(name) - 1  # without self


def _experts(module: torch.nn.Module) -> int:
    """How many experts a layer has: what it says, else the leading size of its stacked weights."""
    for owner in (module, getattr(module, "config", None)):
        for name in _COUNTS:
            if isinstance(count := getattr(owner, name, None), int):
                return count
    stacked = [p.shape[0] for p in module.parameters(recurse=False) if p.dim() == 3]
    return stacked[0] if stacked else 0

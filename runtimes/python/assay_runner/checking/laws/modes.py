"""The law of training: where nothing is dropped, training computes what evaluation does.

Everything that training does at random is set to nothing: the probabilities of modules and of configurations (dropout,
whole layers, paths, jitter of routers, masks over time). Norms over the batch stay in evaluation: their statistics are
meant to differ.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import torch

from assay_runner.checking.laws.case import Case, seeded
from assay_runner.checking.laws.law import Inapplicable, Pair
from assay_runner.subjects.outputs import Tensors

_RANDOM = re.compile(r".*(drop|jitter|stochastic_depth).*|p|mask_(time|feature)_prob|.*token_dropout|.*noise.*std.*")


def trains(case: Case) -> str:
    """The law speaks of every model: what one cannot be trained without is seen when it runs."""
    return ""


def training(case: Case) -> Iterator[Pair]:
    """A row in training mode, and in evaluation."""
    base, expected = case.row(0), case.alone(0)
    try:
        with undropped(case.model):
            found = case.run(base)
            other = replace(case, seed=case.seed + 1).run(base) if _drew(case.seed) else found
    except Exception as error:
        if _asks(error):
            raise Inapplicable(f"training asks for more than its inputs: {error}"[:200]) from error
        raise
    if not all(torch.equal(t, other[name]) for name, t in found.items()) and not case.draws:
        raise Inapplicable("training draws numbers that no probability says")
    common = {name: t for name, t in expected.items() if name in found and found[name].shape == t.shape}
    if not case.draws and not all(torch.equal(found[name], t) for name, t in common.items()):
        with undropped(case.model, training=False):  # where evaluation itself scales by a probability
            common = {name: t for name, t in case.run(base).items() if name in common}

    def again() -> Tensors:
        return {name: t for name, t in case.run(base).items() if name in common}

    yield Pair("training mode", {name: found[name] for name in common}, common, base, again)


def _drew(seed: int) -> bool:
    """Whether numbers were drawn since a seed was set."""
    after = torch.get_rng_state()
    seeded(seed)
    return not torch.equal(after, torch.get_rng_state())


def _asks(error: Exception) -> bool:
    return bool(re.search(r"label|target|ground.?truth|training", str(error), re.IGNORECASE))


@contextmanager
def undropped(model: torch.nn.Module, training: bool = True) -> Iterator[None]:
    """Inside, the model trains (or not) and nothing is random about it; afterwards it is as it was."""
    modes = [(module, module.training) for module in model.modules()]
    numbers = [(owner, name, value) for owner in _owners(model) for name, value in _probabilities(owner)]
    buffers = [(t, t.clone()) for t in model.buffers()]
    try:
        for module, _ in modes:
            module.training = training and not _averages(module)
        for owner, name, value in numbers:
            _set(owner, name, type(value)(0))
        yield
    finally:
        for module, was in modes:
            module.training = was
        for owner, name, value in numbers:
            _set(owner, name, value)
        with torch.inference_mode():
            for t, before in buffers:
                if not torch.equal(t, before):
                    t.copy_(before)


def _set(owner: Any, name: str, value: Any) -> None:
    vars(owner)[name] = value


def _averages(module: torch.nn.Module) -> bool:
    """Whether a module keeps statistics of what it saw."""
    return "running_mean" in module._buffers


def _owners(model: torch.nn.Module) -> Iterator[Any]:
    """Modules, and all configurations in them."""
    seen: set[int] = set()
    for module in model.modules():
        yield module
        yield from _configs(vars(module).get("config"), seen)


def _configs(config: Any, seen: set[int]) -> Iterator[Any]:
    if config is None or id(config) in seen or not hasattr(config, "__dict__"):
        return
    seen.add(id(config))
    yield config
    for value in list(vars(config).values()):
        if hasattr(value, "to_dict"):
            yield from _configs(value, seen)


def _probabilities(owner: Any) -> list[tuple[str, Any]]:
    return [
        (name, value)
        for name, value in vars(owner).items()
        if isinstance(value, float) and value > 0 and _RANDOM.fullmatch(name)
    ]

"""Scenario moves: a model goes to its device and comes back, several times.

Judged are bits: of its weights and of what it gives, at home before and after, and there from one time to the next; and
memory: what torch's tensors hold of the device once the model is back, beside what they held before it came. The
control keeps a copy of the largest tensor there: the same reading must notice it. Timed are the ways there and back.
"""

from __future__ import annotations

import gc
import statistics
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import torch

from assay_runner.engines import timing
from assay_runner.engines.torch import loops
from assay_runner.errors import Unsuited
from assay_runner.subjects import outputs
from assay_runner.subjects.outputs import Tensors
from assay_runner.subjects.programs import building

if TYPE_CHECKING:
    from assay_runner.engines.torch.engine import Session

SCENARIO = "moves"
ROUNDS = 3
INSIDE = "a model moved to the device and back, the device awaited after each way"
_SHARE, _LEAST = 0.01, 64 << 10  # what may stay behind: a share of the model, and never less than this

_HOME = torch.device("cpu")


def refuse_home(session: Session) -> None:
    """Raises where the device is the one that the model is made on."""
    if session.device.cpu:
        raise Unsuited(
            "a model is made on the CPU: scenario moves takes it to another device and back, and cpu is none"
        )


def told(session: Session, built: building.Built, tensors: Mapping[str, torch.Tensor]) -> dict[str, Any]:
    """What moving does to a model that is at home, and to its open device. It is at home again afterwards."""
    return _Moves(session, built.model, tensors).report()


class _Moves:
    """A model and its device, with what is known of both before the first move."""

    def __init__(self, session: Session, model: torch.nn.Module, tensors: Mapping[str, torch.Tensor]) -> None:
        self.session, self.device, self.model, self.tensors = session, session.device, model, tensors
        self.to_ms: list[float] = []
        self.back_ms: list[float] = []
        self.there: list[str] = []
        self.weights = outputs.digest(_state(model))
        self.size, self.tensors_at_first = _taken(model)
        self.home = self._given(2, _HOME)
        self._accustom()
        self.before = self._held()
        self.device.reset_framework_peak()

    def _accustom(self) -> None:
        """What libraries take for good when a device first computes is no model's."""
        at = self.device.torch
        a = torch.ones(64, 64, device=at, dtype=self.session.dtype)
        float((a @ a).sum().item())

    def _given(self, times: int, at: torch.device) -> list[str]:
        """Digests of what the model gives where it is, this many times."""
        placed = {name: t.to(at) for name, t in self.tensors.items()}
        return [outputs.digest(_plain(self.session.forward(self.model, placed))) for _ in range(times)]

    def _move(self, to: torch.device) -> float:
        return timing.once(lambda: self.model.to(to), self.device)

    def _held(self) -> int | None:
        gc.collect()
        self.device.empty_cache()
        clear = getattr(
            torch._C, "_cuda_clearCublasWorkspaces", None
        )  # what a product leaves behind is not the model's
        if clear is not None and self.device.kind.type == "cuda":
            clear()
        self.device.synchronize()
        return self.device.held()

    def report(self) -> dict[str, Any]:
        held, left, weights, home = [], [], [], []
        for index in range(ROUNDS):
            self.to_ms.append(self._move(self.device.torch))
            held.append(self._held())
            self.there += self._given(1 if index else 2, self.device.torch)
            self.back_ms.append(self._move(_HOME))
            left.append(self._held())
            weights.append(outputs.digest(_state(self.model)))
            home += self._given(1, _HOME)
        peak = self.device.framework_peak()
        slack = max(_LEAST, int(_SHARE * self.size))
        return {
            "rounds": ROUNDS,
            "weights_same": all(one == self.weights for one in weights),
            "home_same": _same(self.home, home),
            "there_same": _same(self.there[:2], self.there[2:]),
            "untied": _taken(self.model)[1] - self.tensors_at_first,
            "model_bytes": self.size,
            "before_bytes": self.before,
            "there_bytes": held,
            "left_bytes": _beyond(self.before, left),
            "slack_bytes": slack,
            "peak_bytes": peak,
            "control": self._control(slack),
            "to_ms": statistics.median(self.to_ms),
            "back_ms": statistics.median(self.back_ms),
        }

    def _control(self, slack: int) -> dict[str, Any] | None:
        """Whether memory that stays on the device is noticed: as much as the slack and the largest tensor."""
        before = self._held()
        if before is None:
            return None
        kept = torch.ones(
            slack + max((t.nbytes for t in _state(self.model).values()), default=0) + 1, dtype=torch.uint8
        )
        kept = kept.to(self.device.torch)
        seen = (self._held() or 0) - before
        return {"kept_bytes": kept.nbytes, "seen_bytes": seen, "pass": seen > slack}


def _named(model: torch.nn.Module, once: bool) -> list[tuple[str, torch.Tensor]]:
    return [*model.named_parameters(remove_duplicate=once), *model.named_buffers(remove_duplicate=once)]


def _state(model: torch.nn.Module) -> Tensors:
    """Weights and buffers, at home; tied ones under each name: on some devices torch makes two of them."""
    return _plain({name: t.detach() for name, t in _named(model, once=False)})


def _taken(model: torch.nn.Module) -> tuple[int, int]:
    """The bytes of weights and buffers, and how many they are; tied ones count once."""
    named = _named(model, once=True)
    return sum(t.nbytes for _, t in named), len(named)


def _plain(tensors: Tensors) -> Tensors:
    """Tensors whose bytes can be read as they are."""
    return {name: t.to("cpu").contiguous() for name, t in tensors.items() if t.layout is torch.strided}


def _same(first: list[str], later: list[str]) -> bool | None:
    """Whether all are the same; None where already the first two, with no move between them, were not."""
    return None if len(set(first)) > 1 else {*first} == {*first, *later}


def _beyond(before: int | None, left: list[int | None]) -> list[int | None]:
    return [None if before is None or one is None else one - before for one in left]


def measure(session: Session, built: building.Built, point: Mapping[str, Any], rule: timing.Rule) -> dict[str, Any]:
    """Samples of the way there and back, and the two ways apart."""
    refuse_home(session)
    model, device = built.model, session.device
    ways: dict[str, Callable[[Any], Any]] = {
        "to_device": lambda _: model.to(device.torch),
        "back": lambda _: model.to(_HOME),
    }

    def call() -> None:
        for way in ways.values():
            way(None)
            device.synchronize()

    with timing.quiet():
        samples, timed = loops.timed(session, call, rule)
        parts = timing.apart(ways, device.synchronize, timing.share(samples))
    model.to(device.torch)
    with device.inference():
        found = outputs.flatten(model(**session.placed(session.inputs(point)), **session.recipe.get("call", {})))
    return (
        session.report(built, point, found)
        | timed
        | {
            "inputs_inside": INSIDE,
            "moves": {"parts_ms": parts},
        }
    )

"""A step of training on torch, and its parts: forward with its loss, backward, the optimiser's step."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch

from assay_runner.engines import timing
from assay_runner.engines.torch import adapters, optimisers
from assay_runner.errors import Unsuited
from assay_runner.machine import devices
from assay_runner.subjects.objectives import Objective
from assay_runner.subjects.outputs import Tensors
from assay_runner.subjects.programs import building

if TYPE_CHECKING:
    from assay_runner.engines.torch.engine import Session

_SCALES = 20


def suited(session: Session, built: building.Built) -> torch.nn.Module:
    """The model, ready to be trained as the cell asks."""
    model = built.model
    if session.recipe.get("program"):
        raise Unsuited(f"{session.recipe['class']} runs by a program, not by one forward: it cannot be trained so")
    if session.cell.get("activations"):
        if not getattr(model, "supports_gradient_checkpointing", False):
            raise Unsuited(f"{type(model).__name__} has no gradient checkpointing")
        model.gradient_checkpointing_enable()
    if session.cell.get("adapters") == adapters.LORA and not adapters.trained(model):
        adapters.add(model, session.seed)
    return model


@dataclass
class Trainer:
    """A model, its loss and its optimiser, on the cell's device."""

    session: Session
    model: torch.nn.Module
    objective: Objective
    given: Mapping[str, torch.Tensor]
    optimiser: torch.optim.Optimizer
    scaler: Any = None

    def forward(self) -> torch.Tensor:
        """The loss of a forward."""
        with mixed(self.session):
            return self.objective.loss(self.model, self.given)

    def backward(self, loss: torch.Tensor) -> None:
        """The gradients of all parameters."""
        (self.scaler.scale(loss) if self.scaler else loss).backward()

    def step(self) -> None:
        """The optimiser's step."""
        if self.scaler:
            self.scaler.step(self.optimiser)
            self.scaler.update()
        else:
            self.optimiser.step()
        self.optimiser.zero_grad(set_to_none=True)

    def settle(self) -> None:
        """Lowers the scale of gradients until they fit into fp16. Steps with those that do not fit move nothing."""
        for _ in range(_SCALES if self.scaler else 0):
            self.backward(self.forward())
            fits = all(bool(p.grad.isfinite().all()) for p in named(self.model).values() if p.grad is not None)
            if fits:
                self.optimiser.zero_grad(set_to_none=True)
                return
            self.step()

    def whole(self) -> None:
        """One step."""
        self.backward(self.forward())
        self.step()


def mixed(session: Session) -> AbstractContextManager[Any]:
    """Inside, products are computed in half precision where the cell asks for it."""
    half = session.cell.get("mixed")
    if not half:
        return nullcontext()
    return torch.autocast(session.device.torch.type, devices.dtype(half))


def _scaler(session: Session) -> Any:
    """What keeps gradients in the range of fp16."""
    return torch.amp.GradScaler(session.device.torch.type) if session.cell.get("mixed") == "fp16" else None


def named(model: torch.nn.Module) -> dict[str, torch.nn.Parameter]:
    """The parameters that are trained."""
    return {name: p for name, p in model.named_parameters() if p.requires_grad}


def trainer(session: Session, model: torch.nn.Module, objective: Objective, given: Tensors, rate: float) -> Trainer:
    """A trainer with the cell's optimiser."""
    made = optimisers.MADE[session.cell.get("optimizer") or optimisers.ADAMW](named(model).values(), rate)
    return Trainer(session, model, objective.on(session.device.torch), given, made, _scaler(session))


@contextmanager
def kept(model: torch.nn.Module) -> Iterator[dict[str, torch.Tensor]]:
    """Inside, the parameters as they were; afterwards they are that again, without gradients."""
    start = {name: p.detach().to("cpu", copy=True) for name, p in named(model).items()}
    try:
        yield start
    finally:
        for name, p in model.named_parameters():
            p.grad = None
            if name in start:
                p.data.copy_(start[name])


def apart(
    trainer: Any, synchronize: Callable[[], None], count: int, clock: Callable[[], int] = time.perf_counter_ns
) -> dict[str, list[float]]:
    """Milliseconds of the parts of this many steps."""
    parts = {
        "forward": lambda _: trainer.forward(),
        "backward": trainer.backward,
        "step": lambda _: trainer.step(),
    }
    return timing.apart(parts, synchronize, count, clock)

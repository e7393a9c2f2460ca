"""What a model is trained for: a loss over its inputs.

The model's own loss is taken where it has one: labels are drawn for it by rule, classes where it gives logits of rows,
words where it gives logits of positions. Where it has none, or its loss of such labels is not a number, the loss is the
mean square of its outputs, brought to one size, against drawn targets. Both depend on the seed alone, and are the same
everywhere.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import torch

from assay_runner.errors import Unsuited
from assay_runner.subjects import outputs, stream
from assay_runner.subjects.outputs import Tensors

OWN, DRAWN = "the model's own loss, of drawn labels", "mean square against drawn targets"
_LEARNT = 1e-3  # a loss so small teaches nothing more: what saturates is drawn to give its label already
_UNIT = stream.Draw(0.0, 1 / math.sqrt(3.0))


@dataclass(frozen=True)
class Objective:
    """A loss. `labels` go to the model; `targets` are what its outputs are compared with."""

    call: Mapping[str, Any]
    labels: Tensors = field(default_factory=dict)
    targets: Tensors = field(default_factory=dict)
    sizes: Mapping[str, float] = field(default_factory=dict)  # of the outputs: so that no loss is large

    @property
    def of(self) -> str:
        """What the loss is, in words."""
        return OWN if self.labels else DRAWN

    def on(self, device: torch.device) -> Objective:
        """The same with its tensors on a device."""
        moved = ({name: t.to(device) for name, t in ts.items()} for ts in (self.labels, self.targets))
        return Objective(self.call, *moved, self.sizes)

    def loss(self, model: torch.nn.Module, given: Mapping[str, torch.Tensor]) -> torch.Tensor:
        """The loss of a forward, in float32 or wider."""
        out = model(**given, **self.call, **self.labels)
        if self.labels:
            return _wide(out.loss)
        found = outputs.flatten(out)
        each = [(_wide(found[n]) / self.sizes[n] - t).square().mean() for n, t in self.targets.items()]
        return torch.stack(each).mean()


def choose(model: torch.nn.Module, given: Mapping[str, torch.Tensor], call: Mapping[str, Any], seed: int) -> Objective:
    """The objective of a model with these inputs."""
    found = outputs.flatten(model(**given, **call))
    labels = _labels(model, found, seed)
    if labels and _fits(own := Objective(call, labels), model, given):
        return own
    floats = {name: t for name, t in found.items() if t.is_floating_point() and t.requires_grad and t.numel() > 1}
    if not floats:
        raise Unsuited(f"no output of {type(model).__name__} depends on its weights: there is nothing to train")
    sizes = {name: t.detach().float().square().mean().sqrt().item() or 1.0 for name, t in floats.items()}
    return Objective(call, targets={name: _target(name, t, seed) for name, t in floats.items()}, sizes=sizes)


def _labels(model: torch.nn.Module, found: Tensors, seed: int) -> Tensors:
    """Labels that fit the logits: a class for each row, or a word for each position; none where neither fits."""
    logits = found.get("logits")
    if logits is None or logits.dim() not in (2, 3) or "labels" not in inspect.signature(model.forward).parameters:
        return {}
    shape = logits.shape[:-1]
    ids = stream.integers(f"{seed}/labels", math.prod(shape), 0, logits.shape[-1])
    return {"labels": torch.from_numpy(ids).reshape(shape)}


def _fits(own: Objective, model: torch.nn.Module, given: Mapping[str, torch.Tensor]) -> bool:
    """Whether the model has a loss of such labels; what it raises says that it has not."""
    try:
        loss = own.loss(model, given)
    except Exception:
        return False
    return loss.numel() == 1 and loss.requires_grad and bool(loss.isfinite()) and loss.item() > _LEARNT


def _target(name: str, t: torch.Tensor, seed: int) -> torch.Tensor:
    return torch.from_numpy(stream.floats(f"{seed}/target/{name}", t.numel(), _UNIT)).reshape(t.shape)


def _wide(t: torch.Tensor) -> torch.Tensor:
    return t if t.dtype.itemsize >= torch.float32.itemsize else t.float()

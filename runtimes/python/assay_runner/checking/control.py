"""The negative control: a damaged model must be seen as damaged.

A control damages what the recipe says, on the very model that was checked; the
output is then compared with the same reference by the same code. Attention and
MLP parts are found by the names of their classes. Within an attention part the
output projection is zeroed, by the names in the table; where none is known,
everything but the norms.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch

from assay_runner.checking.numerics import CONTROL_FACTOR, compare
from assay_runner.errors import BadRecipe
from assay_runner.subjects.outputs import Tensors

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
KINDS = (*PARTS, "other-input")
CAP = 1e6  # an infinite change (numbers lost, shapes changed) is written as this


def targets(model: torch.nn.Module, kind: str) -> list[torch.Tensor]:
    """The tensors that a control of this kind zeroes."""
    found: dict[int, torch.Tensor] = {}
    for part in _outermost(model, PARTS[kind]):
        for tensor in _DAMAGED[kind](part):
            found[id(tensor)] = tensor
    return list(found.values())


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
class Control:
    """What a control saw. change is as a comparison's max_rel."""

    kind: str
    change: float
    passed: bool
    note: str = ""

    def report(self) -> dict[str, Any]:
        """As the protocol has it."""
        return {"kind": self.kind, "change": self.change, "pass": self.passed, "note": self.note}


def measure(
    model: torch.nn.Module,
    kind: str,
    run: Callable[[], Tensors],
    run_other: Callable[[], Tensors],
    reference: Tensors,
    tolerance: float,
    restore: bool = True,
    dtype: str = "fp32",
) -> Control:
    """Damages, runs (on another input for that kind) and compares with the reference."""
    if kind == "other-input":
        damaged = run_other()
    elif kind in PARTS:
        found = targets(model, kind)
        if not found:
            return Control(kind, 0.0, False, "the model has no part of that kind")
        with zeroed(found, restore):
            damaged = run()
    else:
        raise BadRecipe(f"unknown control {kind!r}: the controls are {', '.join(KINDS)}")
    change = min(compare(damaged, reference, dtype).max_rel, CAP)
    return Control(kind, change, change >= CONTROL_FACTOR * tolerance)

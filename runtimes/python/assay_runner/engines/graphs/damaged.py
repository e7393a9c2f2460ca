"""Writes a model again, damaged, for forms that are not one graph in ONNX: those of generation, and OpenVINO's own.

Such a form is made of torch's model, and its weights cannot be found in it by rule. So the model is damaged in torch,
and goes the same way into the same form: the engine must then give what torch gives of the damaged model. Signs are
turned, as in a graph (`damaging`), so that the damaged model has the ranges of the model.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from assay_runner.checking import control, numerics
from assay_runner.checking.tolerances import TABLE, Tolerance
from assay_runner.engines.formats import Form
from assay_runner.exporting import damaging, traces
from assay_runner.exporting.call import Subject
from assay_runner.subjects import generation
from assay_runner.subjects.outputs import Tensors

FOLDER = "damaged"  # of an artefact: the form and its reference
REFERENCE = "reference.npz"
_PLAIN = 0.3  # of the largest value: damage that is seen in every dtype
_LAST = 3  # weights that are damaged alone: the last one may be of a part that this call does not use

Run = Callable[[Mapping[str, torch.Tensor]], Tensors]


@dataclass(frozen=True)
class Damage:
    """Some weights of a model, of each the first channels, with their signs turned."""

    kind: str
    of: str
    weights: Sequence[torch.nn.Parameter]
    share: float

    @contextmanager
    def done(self) -> Iterator[None]:
        """Inside, the model is damaged; afterwards it has its weights again, to the bit."""
        self._turn()
        try:
            yield
        finally:
            self._turn()

    def _turn(self) -> None:
        with torch.no_grad():
            for weight in self.weights:
                weight[: max(1, int(weight.shape[0] * self.share))].neg_()


def damages(model: torch.nn.Module) -> list[Damage]:
    """From a quarter of one weight to a quarter of all, the smallest first; none for a model without weights."""
    found = [(name, p) for name, p in model.named_parameters() if p.dim() > 1 and p.is_floating_point()]
    last = found[: -_LAST - 1 : -1]
    return [
        *(Damage(damaging.QUARTER, name, [weight], 0.25) for name, weight in last),
        *(Damage(damaging.WEIGHT, name, [weight], 1.0) for name, weight in last),
        *([Damage(damaging.QUARTERS, "all weights", [weight for _, weight in found], 0.25)] if found else []),
    ]


def written(form: Form, subject: Subject, run: Run, folder: Path) -> dict[str, Any]:
    """Writes the smallest damage that is plainly seen, with what torch gives of it, for a manifest. A model that cannot
    be written so is no reason to fail: `why` says it."""
    best: tuple[float, Damage, Tensors] | None = None
    for damage in damages(subject.model):
        with damage.done():
            shown = run(subject.tensors)
        change = min(numerics.compare(*generation.comparable(shown, subject.expected)).max_rel, control.CAP)
        if numerics.finite(shown, None) and (best is None or change > best[0]):
            best = change, damage, shown
        if best is not None and best[0] >= _PLAIN:
            break
    if best is None:
        return damaging.nothing("the model has no weights that can be damaged")
    return _written(form, subject, folder / FOLDER, *best)


def _written(
    form: Form, subject: Subject, folder: Path, change: float, damage: Damage, shown: Tensors
) -> dict[str, Any]:
    folder.mkdir()
    try:
        with damage.done():
            graph = form.write(replace(subject, expected=shown, further=(), limit=Tolerance(TABLE["fp32"])), folder)
    except Exception as error:  # noqa: BLE001 - exporters raise anything
        return damaging.nothing(f"the damaged model could not be written as {form.kind}: {traces.line(error)}")
    np.savez(folder / REFERENCE, **{name: t.numpy() for name, t in shown.items()})
    snr = numerics.signal_to_noise_db(*generation.comparable(shown, subject.expected))
    effect = damaging.Effect(0, damage.kind, damage.of, change, snr, True)
    return {"effects": [asdict(effect)], "moves": {}, "why": "", "graph": asdict(graph)}

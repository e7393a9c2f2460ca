"""Training on torch: the mode `train`.

A step is a forward with its loss, a backward, and the optimiser's step. `check` takes a few steps on one batch, with
nothing dropped, and compares losses, gradients and updates with a reference: the same model on the CPU in a wider
dtype, moved by the optimiser's rule written out. A control freezes the parameter whose gradient is the smallest that is
judged: the comparison must notice. `measure` times whole steps, with dropout as the model has it and the device awaited
at both ends only, as a plain loop would; the parts of a step are timed after them, awaited one by one.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import torch

from assay_runner.checking import gradients, reference, tolerances
from assay_runner.checking.laws.modes import undropped
from assay_runner.engines import timing
from assay_runner.engines.torch import adapters, loops, optimisers, stepping
from assay_runner.errors import TooLarge
from assay_runner.process import linux
from assay_runner.subjects import experts, objectives
from assay_runner.subjects.objectives import Objective
from assay_runner.subjects.outputs import Tensors
from assay_runner.subjects.programs import building

if TYPE_CHECKING:
    from assay_runner.engines.torch.engine import Session

MODE = "train"
STEPS = 3
INSIDE = "forward, backward and the optimiser's step; inputs resident on the device"
TIMED_RATE = 1e-6  # so small that hundreds of timed steps leave the weights where they are
_HALVINGS = 6
_HELD = 8  # times the weights in the reference's dtype


@dataclass
class Taken:
    """What a few steps on one batch gave."""

    losses: list[float] = field(default_factory=list)
    gradients: dict[str, torch.Tensor] = field(default_factory=dict)  # of the first step
    updates: dict[str, torch.Tensor] = field(default_factory=dict)  # by the first step
    rate: float = 0.0


# The reference.


def expected(session: Session, built: building.Built, given: Tensors) -> tuple[Objective, Taken]:
    """The objective, and what a plain loop on the CPU in a wider dtype makes of it. The rate is halved until its loss
    falls: what a model can be trained with is not the platform's to show."""
    model, wide = built.model, torch.float32 if session.narrow else torch.float64
    name = session.cell.get("optimizer") or optimisers.ADAMW
    with stepping.kept(model) as start, undropped(model), reference.widened(model, wide), experts.looped(model):
        cast = {key: t.to(wide) if t.is_floating_point() else t for key, t in given.items()}
        objective = objectives.choose(model, cast, session.recipe.get("call", {}), session.seed)
        rate = None
        for _ in range(_HALVINGS):
            for key, p in stepping.named(model).items():
                p.data = start[key].to(wide)
            taken = _written(session, model, objective, cast, name, rate)
            if taken.losses[-1] < taken.losses[0]:
                break
            rate = taken.rate / 2
    return objective, taken


def _written(
    session: Session, model: torch.nn.Module, objective: Objective, given: Tensors, name: str, rate: float | None
) -> Taken:
    """Steps by the rule written out."""
    taken, rule = Taken(), None
    for index in range(STEPS + 1):
        torch.manual_seed(session.seed)
        loss = objective.loss(model, given)
        taken.losses.append(loss.item())
        if index == STEPS:
            return taken
        loss.backward()
        parameters = stepping.named(model)
        if rule is None:
            taken.gradients = {key: p.grad.clone() for key, p in parameters.items() if p.grad is not None}
            taken.rate = rate if rate is not None else optimisers.rate(name, loss.item(), taken.gradients.values())
            rule = optimisers.Written(name, taken.rate)
            before = {key: p.data for key, p in parameters.items()}  # replaced by a step, never written to
        rule.step(parameters)
        for p in parameters.values():  # weights are kept in the cell's dtype on both sides
            p.data = p.data.to(session.dtype).to(p.dtype)
        if index == 0:
            taken.updates = {key: p.data - before[key] for key, p in parameters.items()}
        for p in parameters.values():
            p.grad = None
    return taken


# The check.


def check(session: Session) -> None:
    """Each point: a few steps, against the reference, and with a parameter frozen."""
    emit = session.emit
    inputs = [session.inputs(point) for point in session.points]
    built = session.built()
    model = stepping.suited(session, built)
    _refuse_too_large(session, built)
    with emit.in_phase("reference"):
        known = [expected(session, built, given) for given in inputs]
    session.to_device(built)
    for index, (point, given, (objective, wanted)) in enumerate(zip(session.points, inputs, known, strict=True)):
        emit.index = index
        linux.reset_peak()
        placed, base = session.placed(given), adapters.base(model) if adapters.trained(model) else {}
        with stepping.kept(model):
            began = time.perf_counter_ns()
            with emit.in_phase("run"):
                found = taken(session, model, objective, placed, wanted.rate)
            run_ms = (time.perf_counter_ns() - began) / 1e6 / (STEPS + 1)
        beside = compared(session, found, wanted)
        report = session.report(built, point, {})
        left = adapters.moved(model, base)
        with emit.in_phase("control"):
            control = frozen(session, model, objective, placed, wanted, beside)
        report |= judged(session, objective, found, wanted, beside, control, run_ms)
        if base:
            seen = _thawed(session, model, objective, placed, wanted, base)
            report["training"]["adapters"] = adapters.report(model, left, seen)
        emit.point(index, report)


def _thawed(
    session: Session,
    model: torch.nn.Module,
    objective: Objective,
    placed: Tensors,
    wanted: Taken,
    base: dict[str, torch.Tensor],
) -> dict[str, Any]:
    """One parameter of the base is trained too for a step: that it moved must be noticed."""
    with adapters.thawed(model) as name, stepping.kept(model):
        taken(session, model, objective, placed, wanted.rate, count=1)
        seen = adapters.moved(model, base)
    return {"kind": "thawed", "of": name, "change": None, "pass": seen == [name], "note": ""}


def _refuse_too_large(session: Session, built: building.Built) -> None:
    """Raises TooLarge for a model whose reference does not fit: weights, gradients, two means of them, what a step
    moved, and what is kept of both sides."""
    wide = torch.float32 if session.narrow else torch.float64
    need, have = built.parameters * wide.itemsize * _HELD, session.available
    if have is not None and need > have:
        raise TooLarge(f"checking a step of training takes about {need / 1e9:.1f} GB; {have / 1e9:.1f} GB are free")


def taken(
    session: Session, model: torch.nn.Module, objective: Objective, given: Tensors, rate: float, count: int = STEPS
) -> Taken:
    """Steps by torch's own optimiser, on the cell's device."""
    seen = Taken(rate=rate)
    with undropped(model), session.drawing(model):
        trainer = stepping.trainer(session, model, objective, given, rate)
        trainer.settle()
        for index in range(count + 1):
            torch.manual_seed(session.seed)
            loss = trainer.forward()
            seen.losses.append(loss.item())
            if index == count:
                break
            trainer.backward(loss)
            if index == 0:
                scale = trainer.scaler.get_scale() if trainer.scaler else 1.0
                graded = ((n, p.grad) for n, p in stepping.named(model).items() if p.grad is not None)
                seen.gradients = {n: (g / scale).cpu() for n, g in graded}
                before = {n: p.detach().clone() for n, p in stepping.named(model).items()}
            trainer.step()
            if index == 0:
                seen.updates = {n: (p.detach() - before[n]).cpu() for n, p in stepping.named(model).items()}
    return seen


def precision(session: Session) -> str:
    """What gradients are computed in."""
    return session.cell.get("mixed") or session.dtype_name


def compared(session: Session, found: Taken, wanted: Taken) -> gradients.Compared:
    """What was taken, against the reference."""
    pairs = found.gradients, wanted.gradients, found.updates, wanted.updates
    return gradients.compare(*pairs, precision(session))


def frozen(
    session: Session,
    model: torch.nn.Module,
    objective: Objective,
    placed: Tensors,
    wanted: Taken,
    beside: gradients.Compared,
) -> dict[str, Any] | None:
    """One parameter is frozen for a step: the comparison must say so."""
    name = gradients.weakest(wanted.gradients, beside.judged)
    if not name:
        return None
    with stepping.kept(model):
        parameter = dict(model.named_parameters())[name]
        parameter.requires_grad_(False)
        try:
            found = taken(session, model, objective, placed, wanted.rate, count=1)
        except RuntimeError as err:  # nothing else depends on any weight
            return {"kind": "frozen", "of": name, "change": None, "pass": True, "note": str(err)[:200]}
        finally:
            parameter.requires_grad_(True)
    seen = compared(session, found, wanted)
    noticed = not seen.passed and (name in seen.missed or name == seen.worst)
    return {"kind": "frozen", "of": name, "change": min(seen.max_rel, 1e9), "pass": noticed, "note": ""}


def judged(
    session: Session,
    objective: Objective,
    found: Taken,
    wanted: Taken,
    beside: gradients.Compared,
    control: dict[str, Any] | None,
    run_ms: float,
) -> dict[str, Any]:
    """What a report says of the steps."""
    limit = tolerances.of_cell(session.recipe, {**session.cell, "dtype": precision(session)}, precision(session)).most
    largest = max(map(abs, wanted.losses)) or 1.0
    apart = max(abs(a - b) / largest for a, b in zip(found.losses, wanted.losses, strict=True))
    finite = all(abs(x) < float("inf") for x in found.losses)
    # Where the reference's own fall is lost in what half precision rounds away, nothing is said of it.
    shows = wanted.losses[0] - wanted.losses[-1] > 2 * limit * largest
    falls = found.losses[-1] < found.losses[0] if shows else None
    label = "cpu fp32" if session.narrow else "cpu fp64"
    numbers = {
        "max_abs": apart * largest if finite else None, "max_rel": apart if finite else None, "tolerance": limit,
        "reference": label, "pass": finite and apart <= limit, "output": "loss", "control": control,
    }  # fmt: skip
    return {
        "finite": finite,
        "constant": None,
        "numerics": numbers,
        "inputs_inside": INSIDE,
        "phases_ms": {"run": run_ms},
        "training": {
            "objective": objective.of,
            "rate": wanted.rate,
            "losses": [x if abs(x) < float("inf") else None for x in found.losses],
            "reference_losses": wanted.losses,
            "falls": falls,
            "gradients": beside.report() if finite else None,
        },
    }


# The timing.


def measure(session: Session, built: building.Built, point: Mapping[str, Any], rule: timing.Rule) -> dict[str, Any]:
    """Whole steps, then their parts, then memory."""
    device, model = session.device, stepping.suited(session, built)
    linux.reset_peak()
    given = session.placed(session.inputs(point))
    with timing.quiet():
        model.eval()
        objective = objectives.choose(model, given, session.recipe.get("call", {}), session.seed)
        model.train()
        trainer = stepping.trainer(session, model, objective, given, TIMED_RATE)
        samples, timed = loops.timed(session, trainer.whole, rule)
        parts = stepping.apart(trainer, device.synchronize, timing.share(samples))
        device.empty_cache()
        device.reset_framework_peak()
        trainer.whole()
        device.synchronize()
        peak = device.framework_peak()
    report = session.report(built, point, {})
    report["memory"]["framework_peak_bytes"] = peak
    return (
        report
        | timed
        | {
            "inputs_inside": INSIDE,
            "training": {"objective": objective.of, "rate": TIMED_RATE, "parts_ms": parts},
        }
    )

"""Checks a model on torch: each point once, against a reference, on other samples, and against a damaged model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import torch

from assay_runner.checking import (
    control,
    fingerprints,
    further,
    laws,
    narrower,
    numerics,
    onepass,
    placement,
    reference,
    steadiness,
    tolerances,
)
from assay_runner.checking.further import Further
from assay_runner.checking.tolerances import Tolerance
from assay_runner.engines import timing
from assay_runner.engines.torch import kernels, moving, pipelining, sampling
from assay_runner.process import linux
from assay_runner.subjects import experts, generation, outputs
from assay_runner.subjects.outputs import Tensors
from assay_runner.subjects.programs import building
from assay_runner.subjects.programs.continuing import Continuation

if TYPE_CHECKING:
    from assay_runner.engines.torch.engine import Session


def check(session: Session) -> None:
    """Runs each point once, against a reference and against a damaged model."""
    emit, cell_inputs = session.emit, [session.inputs(p) for p in session.points]
    built = session.built()
    with emit.in_phase("reference"):
        how = session.forward, session.rebuilt, session.available
        known = reference.compute(built, session.narrow, cell_inputs, *how)
        others = [session.samples(built, point) for point in session.points] if known.outputs else []
    moves = None
    if session.cell.get("scenario") == moving.SCENARIO:
        moving.refuse_home(session)
        session.open_device()
        with emit.in_phase("moves"):
            moves = moving.told(session, built, cell_inputs[0])
    session.to_device(built)
    for index, point in enumerate(session.points):
        emit.index = index
        expected = known.outputs[index] if known.outputs else None
        last = index == len(session.points) - 1
        more = others[index] if others else ([], [])
        fingerprint = _fingerprint(session, built, known, cell_inputs[index], expected, more[0])
        report = _checked(session, built, point, cell_inputs[index], known, expected, more, last)
        emit.point(index, report | {"fingerprint": fingerprint, "moves": moves})


def _fingerprint(
    session: Session,
    built: building.Built,
    known: reference.Reference,
    tensors: Mapping[str, torch.Tensor],
    expected: Tensors | None,
    more: list[Further],
) -> dict[str, Any] | None:
    """What the reference of a tiny model gives, in a few numbers: of the first sample, and of those with padding where
    nothing is hidden. Of cells on the CPU in fp32 only, whose reference is the same code in float64, or with another
    attention where it cannot run so; where neither can be had, it is of what the model itself gives in float32. Two are
    compared only where both were computed in one of these ways.
    Pipelines have none, of diffusers or of mode pipeline: what they give depends on more libraries than are kept."""
    if session.narrow or not session.has_size_tiny or session.recipe.get("parts") or session.mode == pipelining.MODE:
        return None
    label = known.label
    if expected is None:
        label, expected = "cpu fp32", _own(session, built, tensors)
    if expected is None:
        return None
    rows = fingerprints.of(
        [("first", expected), *((row.sample.name, row.sample.visible(row.expected)) for row in more)]
    )
    return {"reference": label, "samples": rows}


def _own(session: Session, built: building.Built, tensors: Mapping[str, torch.Tensor]) -> Tensors | None:
    """What a model gives that has no reference; none where it cannot run, which its check will say."""
    if not session.device.cpu:
        return None
    try:
        with reference.forgetting(built.model):
            return session.forward(built.model, tensors)
    except Exception:  # noqa: BLE001 - whatever it is, the cell itself is yet to run and will say it better
        return None


def _checked(
    session: Session,
    built: building.Built,
    point: Mapping[str, Any],
    tensors: Mapping[str, torch.Tensor],
    known: reference.Reference,
    expected: Tensors | None,
    more: tuple[list[Further], list[dict[str, str]]],
    last: bool,
) -> dict[str, Any]:
    linux.reset_peak()  # each point has a peak of its own, and the reference is the harness's; the model counts in all
    placed = session.placed(tensors)
    if isinstance(built.model, Continuation):
        built.model.clock.forget()  # the reference's
    watched = experts.watching(built.model), kernels.watching(built.model)
    # The phase is not "first": the reference and other points have run before.
    with watched[0] as mixture, watched[1] as chosen, session.emit.in_phase("run"):
        seen, run_ms = _run(session, built, placed)
    found = outputs.home(seen)
    outputs.keep(session.job, session.emit.index or 0, found)
    report = session.report(built, point, seen) | {"experts": mixture.report(), "kernels": chosen or None}
    report["phases_ms"] = {"run": run_ms}
    report["finite"] = numerics.finite(found, expected)
    report["constant"] = outputs.constant(found)
    if not session.device.cpu:
        report["placement"] |= _census(session, built, placed)
    if isinstance(built.model, Continuation):
        report["generation"]["one_pass"] = _once(session, built.model, placed, seen)
    around: list[dict[str, Any]] = []
    if session.mode == pipelining.MODE:
        report["pipeline"], around = pipelining.told(session, built, point, found, expected)
        report["inputs_inside"] = pipelining.INSIDE
    if _lawful(session):
        with session.emit.in_phase("laws"):
            report["laws"] = _obeyed(session, built, point)
    if expected is None:
        report["numerics_note"] = known.note or "no reference could be computed"
        return report
    limit = session.tolerance
    if report["generation"]:
        report["generation"]["agreed_tokens"] = generation.agreed(found, expected)
    compared = numerics.compare(*generation.comparable(found, expected), session.dtype_name)
    if compared.unchecked:
        return report | {"constant": None, "numerics_note": compared.unchecked}
    if compared.times(limit) > 1 and not tolerances.measured(session.recipe, point, session.seed):
        limit = _moved(session, built, placed, found, limit)
    if compared.times(limit) > 1 and (why := _unsettled(session, built, placed, found, compared.max_rel)):
        return report | {"numerics_note": why}
    if compared.times(limit) <= 1 and (why := generation.unproven(found, expected)):
        return report | {"numerics_note": why}
    report["numerics"] = compared.report(limit, known.label)
    report["numerics"]["note"] = known.note
    report["numerics"]["output_hash"] = outputs.digest(found)
    judged = _sampled(session, built, report["numerics"], *more)
    report["numerics"] = narrower.named(judged, session.recipe, session.dtype_name)
    if around:
        report["numerics"]["around"] = around
    report["numerics"]["control"] = _control(session, built, point, placed, expected, limit, last)
    return report


def _once(
    session: Session, model: Continuation, placed: Mapping[str, torch.Tensor], seen: Tensors
) -> dict[str, Any] | None:
    """The generation against one pass over its text."""
    if model.whole is None:
        return None
    with session.drawing(model):
        return onepass.judged(
            model.model, session.recipe["inputs"], dict(placed), seen, model.whole, session.tolerance.most
        )


def _moved(
    session: Session, built: building.Built, placed: Mapping[str, torch.Tensor], found: Tensors, limit: Tolerance
) -> Tolerance:
    """The tolerance of a call that the recipe's rounding is not of: that of samples, or where the reference is not the
    same code, by how far roundings move what it gives."""
    if not session.narrow or not limit.rounding:
        return session.sample_tolerance
    return limit.moved_at({session.dtype_name: _movement(session, built, placed, found)}, session.dtype_name)


def _movement(session: Session, built: building.Built, placed: Mapping[str, torch.Tensor], found: Tensors) -> float:
    """How far roundings of the cell's dtype move what the model gave."""

    def run() -> Tensors:
        with session.drawing(built.model):
            return session.forward(built.model, placed)

    return steadiness.moved(built.model, run, found, session.dtype_name)


def _unsettled(
    session: Session, built: building.Built, placed: Mapping[str, torch.Tensor], found: Tensors, error: float | None
) -> str:
    """Why outputs that are off say nothing of a model whose rounding no recipe knows: one at full size. Weights that
    were drawn, and no training, may let roundings grow from layer to layer."""
    if session.has_size_tiny:
        return ""
    return session.tolerance.unsettled(error, _movement(session, built, placed, found))


def _sampled(
    session: Session,
    built: building.Built,
    numbers: dict[str, Any],
    known: list[Further],
    left: list[dict[str, str]],
) -> dict[str, Any]:
    """The numerics with those of the other samples."""

    def run(given: Mapping[str, torch.Tensor]) -> Tensors:
        with session.drawing(built.model):
            return session.forward(built.model, session.placed(given))

    if not known:
        return further.judged(numbers, [], left)
    with session.emit.in_phase("samples"):
        trial = sampling.Trial(built.model, run, session.dtype_name, session.sample_tolerance)
        found, ties = trial.rows(known)
    return further.judged(numbers, found, left + ties)


def _lawful(session: Session) -> bool:
    """Whether the job asks for laws, and they speak of what it checks: a plain tiny model on the CPU in fp32."""
    tiny = (session.cell.get("size") or session.recipe.get("size")) == "tiny"
    plain = (session.cell.get("mode") or "infer") == "infer" and not session.recipe.get("program")
    return bool(session.job.get("laws")) and tiny and plain and not session.narrow


def _obeyed(session: Session, built: building.Built, point: Mapping[str, Any]) -> list[dict[str, Any]]:
    """What each law says; of a broken one also a script that shows it, where the job asks for one."""
    about = session.recipe, point, session.seed, session.called, session.tolerance
    return laws.check(built, *about, repro=bool(session.job.get("repro")))


def _run(session: Session, built: building.Built, placed: Mapping[str, torch.Tensor]) -> tuple[Tensors, float]:
    torch.manual_seed(session.seed)
    seen: Tensors = {}

    def call() -> None:
        seen.update(outputs.flatten(built.model(**placed, **session.recipe.get("call", {}))))

    with session.device.inference(), session.drawing(built.model):
        return seen, timing.once(call, session.device)


def _census(session: Session, built: building.Built, placed: Mapping[str, torch.Tensor]) -> dict[str, Any]:
    drawing = session.drawing(built.model)  # outermost: the census sees what the model asks for
    with placement.fallbacks() as elsewhere, session.device.inference(), drawing, placement.Census() as census:
        built.model(**placed, **session.recipe.get("call", {}))
    return {"nodes": dict(census.nodes), "left_over": elsewhere}


def _control(
    session: Session,
    built: building.Built,
    point: Mapping[str, Any],
    placed: Mapping[str, torch.Tensor],
    expected: Tensors,
    limit: Tolerance,
    last: bool,
) -> dict[str, Any] | None:
    recipe = session.recipe
    full = not recipe.get("control")
    kind = control.lasting(built.model) if full else control.choose(recipe, limit.loosest(expected))
    if not kind:
        return None
    with session.emit.in_phase("control"), session.drawing(built.model):
        seen = control.measure(
            built.model,
            kind,
            lambda given: session.forward(built.model, given),
            placed,
            lambda: session.placed(session.inputs(point, other=1)),
            expected,
            limit,
            restore=not last,
            dtype=session.dtype_name,
            factor=control.FULL_FACTOR if full else numerics.CONTROL_FACTOR,
        )
    return replace(seen, unmoved=tuple(recipe.get("unmoved") or ())).report()

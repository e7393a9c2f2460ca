"""Checks an exported graph on its engine: each point once, against the reference, on other samples, and damaged."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from assay_runner.checking import further, narrower, numerics
from assay_runner.engines.contract import Compiled
from assay_runner.process import linux
from assay_runner.subjects import generation, outputs
from assay_runner.subjects.outputs import Tensors

from . import engine_control, quantised
from .artefact import Artefact
from .choosing import Running

if TYPE_CHECKING:
    from .driver import Session


def check(session: Session, point: Mapping[str, Any]) -> dict[str, Any]:
    """The report of a point."""

    def start(artefact: Artefact, compiled: Compiled) -> float:
        linux.reset_peak()
        compiled.bind(session.feeds(artefact, point))
        with session.emit.in_phase("run"):
            return session.clock(compiled).once()

    with session.chooser().chosen(point, start) as running:
        return _report(session, running, point)


def _report(session: Session, running: Running, point: Mapping[str, Any]) -> dict[str, Any]:
    artefact, compiled = running.artefact, running.compiled
    if running.run_ms is None:
        return session.report(running, {}, compiled.placement()) | {"outputs": artefact["graph"]["outputs"]}
    found, expected = session.first(running), artefact.reference()
    outputs.keep(session.job, session.emit.index or 0, found)
    report = session.report(running, found, compiled.placement())
    report["phases_ms"] = {"run": running.run_ms} | compiled.phases()
    report["finite"] = numerics.finite(found, expected)
    report["constant"] = None if artefact.silent else outputs.constant(found)
    if report["generation"]:
        report["generation"]["agreed_tokens"] = generation.agreed(found, expected)
    if artefact.silent:
        return report | {"numerics_note": artefact.silent}
    compared = numerics.compare(*generation.comparable(found, expected), session.asked.dtype)
    if compared.unchecked:
        return report | {"constant": None, "numerics_note": compared.unchecked}
    judged = further.judged(_numerics(session, artefact, found, expected, compared), *session.samples(running))
    numbers = narrower.named(judged, session.torch.recipe, session.asked.dtype)
    if numbers["pass"] and (why := generation.unproven(found, expected)):
        return report | {"numerics_note": why}
    if (around := compiled.around({name: t.numpy() for name, t in found.items()})) is not None:
        numbers["around"] = around
    if (kept := quantised.told(session, running, point, found, expected)) is not None:
        numbers["quantised"] = kept
        numbers["pass"] = numbers["pass"] and kept["pass"] is not False
    # The last of all: another page, or another context, may take the place of what is compiled.
    numbers["control"] = engine_control.control_of(session, running, point, numbers["pass"])
    return report | {"numerics": numbers}


def _numerics(
    session: Session, artefact: Artefact, found: Tensors, expected: Tensors, comparison: numerics.Comparison
) -> dict[str, Any]:
    """The comparison, by the measure that the dtype has."""
    found, expected = generation.comparable(found, expected)
    least = numerics.LEAST_SNR_DB.get(session.asked.dtype)
    compared = comparison.report(session.limit_of(artefact) or 0.0, artefact["reference"])
    compared["output_hash"] = outputs.digest(found)
    if least is not None:
        snr = numerics.signal_to_noise_db(found, expected, session.asked.dtype)
        passed = snr is not None and snr >= least
        compared |= {"snr_db": snr, "least_snr_db": least, "pass": passed, "margin": None}
    return compared

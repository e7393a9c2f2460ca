"""Times an exported graph on its engine. Nothing is compared, and no torch model is needed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from assay_runner.engines import timing
from assay_runner.engines.company import Company
from assay_runner.engines.contract import Compiled
from assay_runner.process import linux

from . import sampling
from .artefact import Artefact

if TYPE_CHECKING:
    from .driver import Session


def time(session: Session, point: Mapping[str, Any]) -> dict[str, Any]:
    """The report of a point."""
    emit = session.emit

    def start(artefact: Artefact, compiled: Compiled) -> float:
        compiled.bind(session.feeds(artefact, point))
        with timing.quiet(), emit.in_phase("first"):
            return session.clock(compiled).once()

    linux.reset_peak()
    with session.chooser().chosen(point, start) as running:
        compiled = running.compiled
        rule, clock = timing.Rule.of(session.job.get("timing")).shared(compiled.items), session.clock(compiled)
        with timing.quiet():
            with emit.in_phase("warmup"):
                warm = clock.warm_up(rule)
            together = Company.of(session.job)
            together.meet(clock.once)
            compiled.forget()
            emit.timed("begin")
            samples = clock.sample(rule, warm.last_ms)
            emit.timed("end")
            together.linger(clock.once)
        tokens = compiled.generation()
        by_device = _by_device(compiled)
        report = session.report(running, sampling.tensors(compiled.outputs()), None)
        return report | {
            "samples_ms": [ms / compiled.items for ms in samples.ms],
            "device_samples_ms": by_device,
            "cpu_ms_per_iter": _share(samples.cpu_ms_per_iter, compiled.items),
            "pace_ms": samples.pace_ms,
            "warmup": {
                "count": warm.count * compiled.items,
                "mean_ms": _share(warm.mean_ms, compiled.items),
                "stable": warm.stable,
            },
            "sync": "",
            "generation": tokens,
            "hidden": samples.hidden,
            "phases_ms": {"first": running.run_ms, "warmup": (warm.mean_ms or 0.0) * warm.count} | compiled.phases(),
        }


def _by_device(compiled: Compiled) -> list[float] | None:
    """Milliseconds of an inference by the device's own clock, in runs beside the timed ones; None where it has none."""
    told = compiled.device_ms()
    return told and [ms / compiled.items for ms in told]


def _share(ms: float | None, items: int) -> float | None:
    return None if ms is None else ms / items

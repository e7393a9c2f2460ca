"""The timed loop of every mode on torch: first call, warm-up, samples, energy; what a report says of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from assay_runner.engines import timing
from assay_runner.engines.company import Company

if TYPE_CHECKING:
    from assay_runner.engines.torch.engine import Session


def timed(
    session: Session,
    call: Callable[[], Any],
    rule: timing.Rule,
    settled: Callable[[], None] = lambda: None,
    items: int = 1,
) -> tuple[timing.Samples, dict[str, Any]]:
    """The samples of a call, and the part of a report that they make. settled is called between warm-up and samples.
    A call that is several inferences gives each its share."""
    emit, device = session.emit, session.device
    with emit.in_phase("first"):
        first_ms = timing.once(call, device)
    with emit.in_phase("warmup"):
        warm = timing.warm_up(call, device, rule)
    together = Company.of(session.job)
    together.meet(call)
    settled()
    emit.timed("begin")
    before = session.watch.energy_j()
    samples = timing.sample(call, device, rule.shared(items), warm.last_ms)
    after = session.watch.energy_j()
    emit.timed("end")
    together.linger(call)
    known = before is not None and after is not None
    shared = [ms / items for ms in samples.ms]
    return samples, {
        "samples_ms": shared,
        "device_samples_ms": samples.device_ms if items == 1 else None,
        "cpu_ms_per_iter": samples.cpu_ms_per_iter and samples.cpu_ms_per_iter / items,
        "pace_ms": samples.pace_ms,
        "warmup": {"count": warm.count, "mean_ms": warm.mean_ms, "stable": warm.stable},
        "sync": "",
        "phases_ms": {"first": first_ms, "warmup": (warm.mean_ms or 0.0) * warm.count},
        "energy_j": (after - before) / len(samples.ms) / items if known else None,
    }

"""Throughput on torch: threads that run one model at once, on a device each on a stream of its own.

On the processor each computes with one thread of the library's. Whether models may be run so is not taken for granted:
what each request gave last is compared with what one alone gives.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

import torch

from assay_runner.checking import numerics
from assay_runner.engines import in_flight, timing
from assay_runner.engines.torch import loops
from assay_runner.errors import Unsuited, WrongNumbers
from assay_runner.subjects import outputs
from assay_runner.subjects.outputs import Tensors
from assay_runner.subjects.programs import building

if TYPE_CHECKING:
    from assay_runner.engines.torch.engine import Session

INSIDE = "a share of {} forwards in flight, all awaited; inputs resident on the device"


def measure(
    session: Session,
    built: building.Built,
    point: Mapping[str, Any],
    rule: timing.Rule,
    arguments: Mapping[str, Any],
) -> dict[str, Any]:
    """Samples of many inferences in flight, each its share."""
    if session.recipe.get("program"):
        raise Unsuited(f"{session.recipe['class']} runs by a program: it has no scenario throughput here")
    device, model, count = session.device, built.model, in_flight.count(session.device.cpu, session.threads)
    last: list[Any] = [None] * count
    calls = [_call(session, model, arguments, last, i) for i in range(count)]
    flight = in_flight.InFlight(calls, lambda: torch.set_num_threads(1) if device.cpu else None)
    try:
        with timing.quiet():
            with session.device.inference():
                alone = outputs.home(outputs.flatten(model(**arguments)))
            _, timed = loops.timed(session, flight.run, rule, items=flight.items)
    finally:
        flight.close()
        torch.set_num_threads(session.threads)
    refuse_others(session, alone, [outputs.home(outputs.flatten(one)) for one in last])
    report = session.report(built, point, alone)
    return report | timed | {"inputs_inside": INSIDE.format(flight.items)}


def _call(
    session: Session, model: torch.nn.Module, arguments: Mapping[str, Any], last: list[Any], index: int
) -> Callable[[], None]:
    streams = None if session.device.cpu else getattr(session.device.module, "Stream", None)
    stream = streams() if streams else None

    def call() -> None:
        with session.device.inference(), session.device.module.stream(stream) if stream else nullcontext():
            last[index] = model(**arguments)
            if stream:
                stream.synchronize()

    return call


def refuse_others(session: Session, alone: Tensors, found: list[Tensors]) -> None:
    """Raises WrongNumbers where a request in flight gave other numbers than one alone."""
    for one in found:
        compared = numerics.compare(one, alone, session.dtype_name)
        if not compared.unchecked and compared.max_rel > session.tolerance.most:
            raise WrongNumbers(
                f"its numbers are wrong by {compared.max_rel:.2g} with several requests in flight: the model keeps a "
                "state that they share"
            )

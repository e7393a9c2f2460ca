"""Whether an engine computes what was quantised, told apart from what quantising lost.

A quantised model is further from torch's than any rounding of float32: weights, and perhaps activations, have few
levels. That loss is the quantiser's, and says nothing about the engine. So the quantised model is run in floating point
too (`Backend.meant`): how far that is from torch is the loss, and how far the engine is from that is the engine's own
error, to which the tolerance of the floating dtype applies.

Where activations are rounded, a number near a step falls to either side of it, on a right engine too: its error is then
noise. With float32 between the roundings that is rare, and the noise must be a tenth of the loss. Half precision takes
every tenth number or so across a step of 8 bits: that noise is like the loss itself, and may be four times as much.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from assay_runner.checking import numerics, tolerances
from assay_runner.engines.contract import Meant
from assay_runner.exporting import traces
from assay_runner.subjects.outputs import Tensors

from . import sampling
from .choosing import Running

if TYPE_CHECKING:
    from .driver import Session

RIGHT_DB = 40.0  # of an engine against what was quantised, where its activations are rounded: no more is asked for
_BEYOND_DB = {"fp32": 10.0}  # by what lies between roundings, how far the engine's noise must be below the loss
_AMONG_DB = -6.0  # where that is half precision
_LARGE = 500_000_000  # parameters: beyond it the same model in floating point may not fit beside the quantised one


def told(
    session: Session, running: Running, point: Mapping[str, Any], found: Tensors, expected: Tensors
) -> dict[str, Any] | None:
    """The loss and the engine's own error, as the protocol has them; None where nothing is quantised or known."""
    if session.asked.dtype not in numerics.LEAST_SNR_DB or running.artefact["parameters"] > _LARGE:
        return None
    engine = session.engine_of(running.attempt)
    with tempfile.TemporaryDirectory(prefix="assay-meant-", ignore_cleanup_errors=True) as folder:
        try:
            meant = engine.meant(engine.prepare(session.exported(running.artefact, point)), Path(folder))
            wanted = meant and sampling.tensors(meant.run(session.feeds(running.artefact, point)))
        except Exception as error:  # noqa: BLE001 - engines raise types of their own, and the model itself has run
            return {"pass": None, "note": f"not compared with what was quantised: {traces.line(error)}"}
    if meant is None:
        return None
    loss = numerics.signal_to_noise_db(wanted, expected, session.asked.dtype)
    return {"by": meant.by, "loss_snr_db": loss, "note": ""} | _own(session, meant, found, wanted, loss)


def _own(session: Session, meant: Meant, found: Tensors, wanted: Tensors, loss: float | None) -> dict[str, Any]:
    """How far the engine is from what was quantised."""
    if meant.rounds:
        least = least_db(loss, meant.dtype)
        snr = numerics.signal_to_noise_db(found, wanted, session.asked.dtype)
        return {"snr_db": snr, "least_snr_db": least, "pass": snr is not None and snr >= least}
    limit = tolerances.of_cell(session.torch.recipe, session.cell, meant.dtype, str(session.cell["engine"]))
    compared = numerics.compare(found, wanted, meant.dtype).report(limit, meant.by)
    return {name: compared[name] for name in ("max_rel", "tolerance", "pass")}


def least_db(loss: float | None, dtype: str) -> float:
    """What an engine that rounds activations must reach, by the loss and by what it computes in between roundings."""
    return RIGHT_DB if loss is None else min(loss + _BEYOND_DB.get(dtype, _AMONG_DB), RIGHT_DB)

"""The negative control of a graph: a damaged one must be seen as damaged, by the engine itself where that can be done.

When a model is exported it is damaged in torch, as its recipe says, and in its graph, by grades (`damaging`). In the
check of a tiny model the engine is then given the damaged graph: by the same attempt, prepared, compiled and run as the
model was. What it shows must be far from the reference, and be what ONNX Runtime shows of the same damage: an engine
that takes its weights from elsewhere, or that gives just anything, is noticed. A form that is not one graph in ONNX is
written again of a model that was damaged in torch (`damaged`), whose own outputs it must then show. Larger models have
the control that torch had; it says what the comparison sees, and nothing of the engine.

A quantised model is judged by its noise, here as everywhere.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from assay_runner.checking import control, numerics
from assay_runner.engines.contract import Exported
from assay_runner.exporting import comparison, damaging, traces
from assay_runner.exporting.store import Store
from assay_runner.subjects import generation
from assay_runner.subjects.outputs import Tensors

from . import sampling
from .artefact import Artefact
from .choosing import Running

if TYPE_CHECKING:
    from .driver import Session

ENGINE, REFERENCE = "engine", "reference"
_APART_DB = 10.0  # between the damage and what an engine may be off from it: a tenth, by power


@dataclass(frozen=True)
class Measure:
    """How damage is judged: by the largest error that would pass, or by noise where there is no such error."""

    limit: float | None
    dtype: str

    def seen(self, change: float | None, snr_db: float | None) -> bool:
        """Whether damage is far more than what would pass. Where it left no numbers to tell the noise by, its change is
        the largest there is; where nothing was damaged, none."""
        if self.limit is not None:
            return change is not None and change >= numerics.CONTROL_FACTOR * self.limit
        if snr_db is None:
            return change is not None and change >= control.CAP
        return snr_db <= numerics.CONTROL_SNR_DB

    def still(self, change: float) -> bool:
        """Whether an output that is moved so far at most counts as one that no damage moves."""
        least = 10 ** (-numerics.CONTROL_SNR_DB / 20) if self.limit is None else numerics.CONTROL_FACTOR * self.limit
        return change < least

    def told(self, found: Tensors, expected: Tensors) -> dict[str, Any]:
        """How far outputs are from others, by both measures."""
        found, expected = generation.comparable(found, expected)
        change = min(numerics.compare(found, expected, self.dtype).max_rel, control.CAP)
        snr = None if self.limit is not None else numerics.signal_to_noise_db(found, expected, self.dtype)
        return {"change": change} | ({} if self.limit is not None else {"snr_db": snr})

    def explained(self, shown: Mapping[str, Any], off: Mapping[str, Any]) -> bool:
        """Whether what is shown is the damage, and no more than a tenth of it anything else."""
        if self.limit is not None:
            return off["change"] <= shown["change"] / numerics.CONTROL_FACTOR
        if off["snr_db"] is None or shown["snr_db"] is None:
            return False
        return off["snr_db"] >= shown["snr_db"] + _APART_DB


def control_of(session: Session, running: Running, point: Mapping[str, Any], right: bool) -> dict[str, Any] | None:
    """The control of a check, as the protocol has it. Where the model's own numbers are not right, nothing more is run;
    where torch's control was not seen, the check is weak whatever the engine shows."""
    artefact, limit = running.artefact, session.limit_of(running.artefact)
    measure = Measure(None if limit is None else limit.loosest(artefact.reference()), session.asked.dtype)
    known = artefact["control"]
    if known is not None:
        passed = measure.seen(known["change"], known["snr_db"])
        known = {**known, "pass": passed, "where": REFERENCE}
    kept = artefact.damage
    if kept is None or not right or _unseen(known):
        return known
    if not kept["effects"]:
        return known and known | {"why": kept["why"]}
    with session.emit.in_phase("control"):
        return _on_engine(session, running, point, measure, kept)


def _unseen(known: Mapping[str, Any] | None) -> bool:
    """Whether the comparison did not see damage to the model in torch. Another input damages nothing: that one is like
    the first says nothing of what damage to the graph would show."""
    return known is not None and not known["pass"] and known["kind"] != control.OTHER_INPUT


def _on_engine(
    session: Session, running: Running, point: Mapping[str, Any], measure: Measure, kept: Mapping[str, Any]
) -> dict[str, Any]:
    effect = chosen(kept["effects"], measure)
    unmoved = [name for name, change in kept["moves"].items() if measure.still(change)]
    row = {"kind": effect["kind"], "of": effect["of"], "where": ENGINE, "expected": effect["change"]}
    row |= {"unmoved": unmoved, "note": ""}
    try:
        shown, off = _shown(session, running, point, effect["number"], measure)
    except Exception as error:  # noqa: BLE001 - engines raise types of their own, and the model itself has run
        return row | {"change": None, "pass": False, "note": f"the damaged graph did not run: {traces.line(error)}"}
    explained = measure.explained(shown, off)
    if not explained:
        row["note"] = "the engine shows a change other than the one that was expected"
    return (
        row | shown | {"off": off["change"], "pass": measure.seen(shown["change"], shown.get("snr_db")) and explained}
    )


def chosen(effects: list[dict[str, Any]], measure: Measure) -> dict[str, Any]:
    """The smallest damage that is large enough to be seen; where none is, the one with the largest effect. Numbers that
    are not finite cannot be compared between two engines."""
    finite = [row for row in effects if row["finite"]] or effects
    enough = (row for row in finite if measure.seen(row["change"], row["snr_db"]))
    return next(enough, max(finite, key=lambda row: row["change"]))


def _shown(
    session: Session, running: Running, point: Mapping[str, Any], number: int, measure: Measure
) -> tuple[dict[str, Any], dict[str, Any]]:
    """How far the engine's outputs of a damaged graph are from the reference, and from those of ONNX Runtime."""
    artefact = running.artefact
    feeds = session.feeds(artefact, point)
    with tempfile.TemporaryDirectory(prefix="assay-control-", ignore_cleanup_errors=True) as folder:
        exported, damaged = _damaged(session, artefact, point, number, Path(folder) / "graph")
        # A store of its own: nothing that is made of a damaged graph is ever found as the model's.
        made_for = session.made_for(running.attempt, Store(Path(folder) / "store"))
        compiled = made_for.compile(made_for.prepare(exported))
        compiled.bind(feeds)
        session.clock(compiled).once()
        found = sampling.tensors(compiled.outputs())
    return measure.told(found, artefact.reference()), measure.told(found, damaged)


def _damaged(
    session: Session, artefact: Artefact, point: Mapping[str, Any], number: int, folder: Path
) -> tuple[Exported, Tensors]:
    """The damaged model as the engine is given it, and what it should show: torch's own outputs where the model was
    written again, ONNX Runtime's where the graph is damaged now."""
    exported = session.exported(artefact, point)
    if (known := artefact.damaged(exported.calibration)) is not None:
        return replace(known[0], front_end=exported.front_end), known[1]
    graph = damaging.write(artefact.graph, number, folder)
    return replace(exported, key=f"{exported.key}-damaged-{number}", graph=graph), _by_onnxruntime(graph, artefact)


def _by_onnxruntime(graph: Path, artefact: Artefact) -> Tensors:
    names = [spec["name"] for spec in artefact["graph"]["outputs"]]
    return comparison.Graph(graph, names, optimised=False).run(artefact.inputs())

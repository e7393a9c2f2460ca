"""Chooses the attempt that counts: the first whose numbers are the model's.

An engine can refuse a graph that another form of the same model spares it, and it can compute something different: its
own rewriting of graphs has errors too. Whether an attempt gave the model's numbers is kept in the store as a `verdict`,
so that what is timed is what was checked, and nothing is compared while memory is measured. A result says which
attempt it came from, and what happened to those before it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from assay_runner.engines.contract import Compiled
from assay_runner.engines.formats import Attempt
from assay_runner.errors import ExportFailed, RefusedGraph, TooLarge, WrongExport, WrongNumbers
from assay_runner.exporting.store import Store, key_of

from .artefact import Artefact, Exporter
from .files import FileExporter


@dataclass(frozen=True)
class Running:
    """A model on its engine after its first run, and the other attempts, each with what it came to."""

    attempt: Attempt
    artefact: Artefact
    compiled: Compiled
    run_ms: float | None  # of the first run; None where the engine only compiles
    earlier: Sequence[tuple[Attempt, Exception]] = ()

    def report(self) -> list[dict[str, str]]:
        """The other attempts, as the protocol has them."""
        return [{"way": attempt.label(), "error": str(error)[:300]} for attempt, error in self.earlier]


Start = Callable[[Artefact, Compiled], float]
"""Gives a compiled model its inputs and runs it once: the milliseconds that took."""


@dataclass(frozen=True)
class Chooser:
    """Chooses among the attempts of one job."""

    attempts: Sequence[Attempt]
    exporter: Exporter | FileExporter
    store: Store
    compile: Callable[[Artefact, Mapping[str, Any], Attempt], Compiled]
    wrong_by: Callable[[Running], float | None] | None  # 0 where the numbers are right; absent where none are judged
    facts: Mapping[str, Any]  # what the numbers depend on beside the artefact and the attempt

    @contextmanager
    def chosen(self, point: Mapping[str, Any], start: Start) -> Iterator[Running]:
        """The attempt that counts at a point, after its first run and held while the context lasts. Where no attempt
        gives the model's numbers it is the first that ran; where none ran, what the first one raised is raised."""
        earlier: list[tuple[Attempt, Exception]] = []
        with ExitStack() as held:
            for attempt in self.attempts:
                if attempt.form.narrow and not _too_large(earlier):
                    continue
                try:
                    with ExitStack() as trial:
                        running = self._right(attempt, point, start, trial)
                        held.enter_context(trial.pop_all())
                    break
                except (ExportFailed, WrongExport, RefusedGraph, TooLarge, WrongNumbers) as error:
                    earlier.append((attempt, error))
            else:
                ran = _ran(earlier)
                running = self._running(ran, point, start, held)
                earlier = [row for row in earlier if row[0] is not ran]
            yield replace(running, earlier=earlier)

    def _right(self, attempt: Attempt, point: Mapping[str, Any], start: Start, held: ExitStack) -> Running:
        """An attempt after its first run; WrongNumbers where that gives, or is known to give, other numbers."""
        if self.wrong_by is None or len(self.attempts) == 1:
            return self._running(attempt, point, start, held)
        made: list[Running] = []

        def judged(folder: Path) -> dict[str, Any]:
            made.append(self._running(attempt, point, start, held))
            return {"of": artefact["key"], "wrong_by": self.wrong_by(made[0])}

        artefact = held.enter_context(self.exporter.artefact(point, attempt.form))
        key = key_of({"verdict": artefact["key"], "settings": dict(attempt.settings), **self.facts})
        with self.store.entry("verdict", key, judged) as entry:
            error = entry.manifest["wrong_by"]
        if error != 0:
            # The protocol has these first words: by them Assay tells such an attempt from one that was refused.
            raise WrongNumbers(f"its numbers are wrong {'without bound' if error is None else f'by {error:.2g}'}")
        return made[0] if made else self._running(attempt, point, start, held)

    def _running(self, attempt: Attempt, point: Mapping[str, Any], start: Start, held: ExitStack) -> Running:
        artefact = held.enter_context(self.exporter.artefact(point, attempt.form))
        compiled = self.compile(artefact, point, attempt)
        first_ms = None if compiled.evidence == "compiled" else start(artefact, compiled)
        return Running(attempt, artefact, compiled, first_ms)


def _too_large(earlier: Sequence[tuple[Attempt, Exception]]) -> bool:
    """Whether the model did not fit into memory in the usual ways."""
    return any(isinstance(error, TooLarge) for _, error in earlier)


def _ran(earlier: Sequence[tuple[Attempt, Exception]]) -> Attempt:
    """The first attempt that ran, whatever its numbers."""
    for attempt, error in earlier:
        if isinstance(error, WrongNumbers):
            return attempt
    raise earlier[0][1]

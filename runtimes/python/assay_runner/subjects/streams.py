"""When each token of a generation was there, and which it was.

A `Clock` notes, for every generation, when it began, when the logits of the first token were there (prefill), and when
the id of each token was known to the host, which on a device means that it was awaited. Tokens are counted by their
ids: those that come together have one time. What follows from the times (time to the first token, times between
tokens, rates) is computed by Assay, for all engines alike.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

_DIGITS = 4  # of a millisecond: a tenth of a microsecond


class WrongCount(RuntimeError):
    """A generation gave another number of tokens than it was asked for: its times say nothing."""


@dataclass
class _Run:
    """One generation; times are in nanoseconds."""

    began: int
    prefill: int | None = None
    stamps: list[int] = field(default_factory=list)
    ids: list[Any] = field(default_factory=list)  # of each token those of all rows, as the engine has them

    def since(self, stamp: int) -> float:
        return round((stamp - self.began) / 1e6, _DIGITS)

    def rows(self) -> list[list[int]] | None:
        """The ids by row; None where the engine does not tell them while it generates."""
        steps = [[int(token) for token in step] for step in self.ids]
        return [list(row) for row in zip(*steps, strict=True)] if steps else None


class Clock:
    """The tokens of generations, as they come."""

    def __init__(self) -> None:
        self._runs: list[_Run] = []

    def begin(self) -> None:
        """A generation begins."""
        self._runs.append(_Run(time.perf_counter_ns()))

    def logits(self) -> None:
        """Logits are there; those of the first token count."""
        run = self._runs[-1]
        if run.prefill is None:
            run.prefill = time.perf_counter_ns()

    def step(self, *tokens: Any) -> None:
        """Tokens are known: for each of them, those of all rows. An engine that does not tell ids gives nothing, and
        that is one token."""
        now, run = time.perf_counter_ns(), self._runs[-1]
        run.stamps += [now] * max(1, len(tokens))
        run.ids += tokens

    def told(self, stamps_ms: Sequence[float]) -> None:
        """A generation as an engine with a clock of its own tells it: when it began, and when each token was there."""
        began, *stamps = (round(ms * 1e6) for ms in stamps_ms)
        self._runs.append(_Run(began, stamps=stamps))

    def end(self, asked: int) -> None:
        """The generation is over: it must have as many tokens as were asked for."""
        run = self._runs[-1]
        found = {len(run.stamps), len(run.ids)} if run.ids else {len(run.stamps)}
        if found != {asked}:
            counts = " and ".join(map(str, sorted(found)))
            raise WrongCount(f"{counts} tokens were counted where {asked} were asked for")

    def forget(self) -> None:
        """What was seen so far was no sample: the first generation, and those that warmed up."""
        self._runs.clear()

    def report(self, prompt: int, new: int, batch: int) -> dict[str, Any]:
        """All generations since the last `forget`. Those that were cut have no place in it."""
        runs = [run for run in self._runs if len(run.stamps) == new]
        rows = [run.rows() for run in runs]
        ids = rows[0] if rows else None
        return {
            "prompt_tokens": prompt,
            "new_tokens": new,
            "batch": batch,
            "prefills_ms": [run.since(run.prefill) for run in runs if run.prefill is not None],
            "streams_ms": [[run.since(stamp) for stamp in run.stamps] for run in runs],
            "ids": ids,
            "strayed": sum(row != ids for row in rows),
        }

"""Models exported to graphs, on OpenVINO, QNN or in a browser's page.

A graph has fixed shapes, so there is one for each set of sizes that was asked for. Each is checked against torch's
numbers before it is used, as the program's own checks are, and is kept in the program's folder of exported models: what
one of them has exported, the other finds. A page holds one graph at a time: with another size it is made anew.
"""

from __future__ import annotations

import gc
import os
import time
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch

from assay_runner.errors import WrongNumbers
from assay_runner.process import libraries
from assay_runner.subjects import generation, inputs, models
from assay_runner.subjects.generation import PROMPT
from assay_runner.subjects.programs import continuing

from . import feeding, pages
from .engines import Point, Silent
from .errors import BadInput, Unsupported
from .feeding import Arrays
from .pages import Page
from .platforms import Target
from .subjects import SEED, Subject


@dataclass
class _Graphs:
    """The graphs of a model in one mode, one for each point that was asked for."""

    session: Any
    page: Page | None = None  # that runs them; None where the engine is in this process
    held: ExitStack = field(default_factory=ExitStack)
    running: dict[tuple[tuple[str, int], ...], Any] = field(default_factory=dict)

    def at(self, point: Point) -> Any:
        """The graph at a point, compiled now if it was not before, and checked against torch's numbers."""
        key = tuple(sorted(inputs.sizes(self.session.torch.recipe, point).items()))
        found = next(iter(self.running.values()), None)
        if found is not None and found.compiled.any_prompt:
            return found
        if key not in self.running:
            if self.page is not None:
                self.drop()
            self.running[key] = self._started(dict(point))
        return self.running[key]

    def _started(self, point: Point) -> Any:
        def start(artefact: Any, compiled: Any) -> float:
            began = time.perf_counter()
            compiled.bind(self.session.feeds(artefact, point))
            compiled.run()
            return (time.perf_counter() - began) * 1e3

        running = self.held.enter_context(self.session.chooser().chosen(point, start))
        if self.session.limit is not None and (error := self.session.wrong_by(running)) != 0:
            raise WrongNumbers(f"its numbers are not torch's: off by {'infinity' if error is None else f'{error:.2g}'}")
        return running

    def drop(self) -> None:
        """Ends the graphs that are compiled."""
        self.running.clear()
        self.held.close()

    def close(self) -> None:
        """Ends the graphs, and the page that they were in."""
        self.drop()
        if self.page is not None:
            self.page.close()

    def run(self, given: Arrays, point: Point, new: int | None = None) -> Arrays:
        """One inference or generation at a point."""
        running = self.at(point)
        compiled = running.compiled
        if new is not None:
            _lengthened(compiled, new)
        if new is None:
            _refuse_fixed(running.artefact, given)
        names = [spec["name"] for spec in running.artefact["graph"]["inputs"]]
        left = () if new is None else (PROMPT,)
        compiled.bind({name: np.asarray(given[name], order="C") for name in (*names, *left) if name in given})
        compiled.run()
        return dict(compiled.outputs())


def _refuse_fixed(artefact: Any, given: Arrays) -> None:
    """Raises where an input has another value than the one that stands in the graph."""
    if fixed := artefact.fixed({name: torch.from_numpy(np.array(array)) for name, array in given.items()}):
        raise BadInput(f"the graph does not take {', '.join(fixed)}: it holds for the values that it was exported with")


def _lengthened(compiled: Any, new: int) -> None:
    """Lets a generation have this many tokens; a cache of a fixed size has room for a fixed number."""
    if compiled.new_tokens is not None:
        compiled.new_tokens = new
    elif new > generation.NEW_TOKENS:
        raise Unsupported(f"the graph generates {generation.NEW_TOKENS} tokens at most: its cache has that size")


class OnGraph:
    """A model exported to a graph, on the engine of its platform. Graphs are kept where the program keeps them."""

    fixed = True

    def __init__(self, subject: Subject, target: Target, dtype: str) -> None:
        self._subject, self._target, self._dtype = subject, target, dtype
        self._inferring = self._graphs(subject)
        self._generating: _Graphs | None = None
        try:
            running = self._inferring.at({"batch": 1})
        except BaseException:
            self._inferring.close()
            raise
        placement = running.compiled.placement()
        self.device = placement.device if placement is not None else str(target)
        self.software = running.compiled.evidence == "emulated"
        self.parameters = running.artefact["parameters"]
        self.versions = libraries.installed() | running.compiled.facts()["versions"]

    def _graphs(self, subject: Subject, **cell: Any) -> _Graphs:
        from assay_runner.engines.graphs import driver  # which imports exporters: only who runs graphs has them

        job = subject.job(self._target, self._dtype, **cell)
        options: dict[str, Any] = {"exports": str(exports())}
        page = pages.opened(self._target, 1 if cell else 0) if self._target.platform.in_pages else None
        if page is not None:
            options["page"] = page.address
        return _Graphs(driver.Session({**job, "options": options}, Silent()), page)

    def run(self, given: Arrays, point: Point) -> Arrays:
        """One inference."""
        return self._inferring.run(given, point)

    def generate(self, given: Arrays, point: Point, new: int) -> np.ndarray:
        """By graphs with a cache of their own, exported when first needed."""
        if self._generating is None:
            self._generating = self._graphs(self._subject, mode=generation.MODE)
        return self._generating.run(self._begun(given, point), point, new)[generation.IDS][:, :new]

    def _begun(self, given: Arrays, point: Point) -> Arrays:
        """A decoder beside an encoder begins its text by itself: the ids that its graph was exported with give way."""
        recipe = self._subject.recipe
        if "decoder_input_ids" not in (spec["name"] for spec in recipe["inputs"]):
            return given
        ids = feeding.drawn(recipe, point, SEED)["decoder_input_ids"]
        begin = np.full((len(ids), 1), continuing.start(models.config(recipe)), np.int64)
        return {**given, "decoder_input_ids": ids, PROMPT: begin}

    def close(self) -> None:
        """Drops what is compiled."""
        for graphs in filter(None, (self._inferring, self._generating)):
            graphs.close()
        del self._inferring, self._generating
        gc.collect()


def exports(environ: Mapping[str, str] = os.environ) -> Path:
    """The program's folder of exported models."""
    if home := environ.get("ASSAY_HOME"):
        return Path(home).absolute() / "cache" / "exports"
    if os.name == "nt" and (local := environ.get("LOCALAPPDATA")):
        return Path(local) / "assay" / "cache" / "exports"
    base = Path(environ.get("XDG_CACHE_HOME") or "")
    return (base if base.is_absolute() else Path.home() / ".cache") / "assay" / "exports"

"""Generation on the HTP: two graphs of fixed shapes, each compiled for itself, and the loop around them.

Every step gives the cache to the device and takes it back: ONNX Runtime copies it, and a timed generation has these
copies in it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import onnx_ir

from assay_runner.engines.contract import Compiled, Exported, Placement
from assay_runner.engines.qnn.greedy import ASKED, DECODE, PREFILL, Arrays, continued
from assay_runner.exporting import writing
from assay_runner.subjects.generation import NEW_TOKENS
from assay_runner.subjects.streams import Clock


def stages(exported: Exported) -> list[Exported]:
    """The graphs of an artefact that has two, each with the inputs and outputs that it has itself."""
    return [_stage(exported, name) for name in (PREFILL, DECODE)]


def _stage(exported: Exported, name: str) -> Exported:
    file = exported.graph.parent.parent / name / writing.FILE
    graph = onnx_ir.load(file).graph
    return replace(
        exported,
        key=f"{exported.key}-{name}",
        graph=file,
        inputs=writing.describe(graph.inputs),
        outputs=writing.describe(graph.outputs),
    )


class Generating(Compiled):
    """Whole generations, one at a time."""

    def __init__(self, prefill: Compiled, decode: Compiled, read: Collection[str]) -> None:
        self.evidence, self.key = decode.evidence, decode.key
        self._stages, self._read = (prefill, decode), set(read) - set(ASKED)  # with the prompt, beside its text
        self._clock = Clock()
        self._ids, self._beside = np.zeros((0, 0), np.int64), dict[str, np.ndarray]()
        self._made: dict[str, np.ndarray] = {}

    def bind(self, feeds: Arrays) -> None:
        """The prompt, and what is read beside it; each step brings its own inputs."""
        self._ids = feeds["input_ids"]
        self._beside = {name: array for name, array in feeds.items() if name in self._read}

    def run(self) -> None:
        """One generation."""
        prefill, decode = (lambda given, stage=stage: _ran(stage, given) for stage in self._stages)
        self._made = continued(prefill, decode, self._ids, NEW_TOKENS, self._clock, self._beside)
        self._clock.end(NEW_TOKENS)

    def outputs(self) -> dict[str, np.ndarray]:
        """Logits of each step and the ids that were chosen."""
        return self._made

    def placement(self) -> Placement:
        """That of both graphs together."""
        first, second = (stage.placement() for stage in self._stages)
        nodes = dict(Counter(first.nodes) + Counter(second.nodes))
        return Placement(second.device, nodes, [*first.left_over, *second.left_over])

    def facts(self) -> dict[str, Any]:
        """Those of the graph that runs most."""
        first, second = (stage.facts() for stage in self._stages)
        return second | {"context_found": first["context_found"] and second["context_found"]}

    def forget(self) -> None:
        """Those so far do not count."""
        self._clock.forget()

    def generation(self) -> dict[str, Any]:
        """What the generations so far took."""
        batch, prompt = self._ids.shape
        return self._clock.report(prompt, NEW_TOKENS, batch)


def _ran(stage: Compiled, given: Mapping[str, np.ndarray]) -> Arrays:
    stage.bind(given)
    stage.run()
    return stage.outputs()

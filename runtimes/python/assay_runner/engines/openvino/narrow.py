"""Writes a model with 16-bit weights in OpenVINO's format, for one whose 32-bit weights do not fit into memory here.

The graph computes in float32: each weight is in it unchanged, followed by a conversion, which is what OpenVINO and
NNCF take for a compressed weight. It is not run before its weights are quantised, because that would widen them all:
what the engine then gives is compared with torch as always, and no earlier check says whose fault a difference is.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from assay_runner.engines.openvino.direct import WAYS, written
from assay_runner.exporting import trying
from assay_runner.exporting.call import Subject
from assay_runner.exporting.graph import Graph
from assay_runner.exporting.ways import possible

UNCHECKED = "not run: its 16-bit weights would be widened to 32"


def write(subject: Subject, folder: Path) -> Graph:
    """Writes folder/model.xml by the first way that can; the model is `layered.widened`."""
    trials = trying.Trials()
    for way in possible(subject, WAYS):
        try:
            _, graph = written(way, subject, folder)
        except Exception as error:  # noqa: BLE001 - what stops one exporter, the next one may not meet
            trials.failed(way, error)
            continue
        step = {"name": "weights of 16 bits", "count": 1, "why": "those of 32 bits do not fit into memory here"}
        check = {"engine": "", "pass": False, "error": UNCHECKED}
        return replace(graph, steps=[*graph.steps, step], tried=trials.tried, check=check)
    raise trials.failure()

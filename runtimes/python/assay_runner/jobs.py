"""What runs jobs: the table by which a child finds the module and function, imported when there is a job."""

from __future__ import annotations

from typing import Any

from assay_runner.engines.backends import BACKENDS

KINDS = {
    "noop": "process.noop.run",
    "recipe": "subjects.recipes.on_demand.answer",
    "catalog": "catalogue.model_types.answer",
    "probe": "probes.answer",
    "facts": "facts.answer",
    "compare": "checking.consistency.answer",
    "parts": "engines.graphs.parts.answer",
    "derive": "derive.answer",
    "hold": "assay.holding.run",
}
"""The jobs that need no engine: kind → module and function, of this package unless the package `assay` is named."""

ENGINES = {
    "noop": "process.noop.run",
    "torch": "engines.torch.engine.run",
    **dict.fromkeys(BACKENDS, "engines.graphs.driver.run"),
}
"""Who carries out `check` and `time`: the cell's engine → module and function of this package."""


def function_for(job: dict[str, Any]) -> str:
    """The module and function that run the job."""
    kind = job.get("kind")
    if kind in KINDS:
        return KINDS[kind]
    if kind not in ("check", "time"):
        raise ValueError(f"unknown kind of job {kind!r}")
    engine = job.get("cell", {}).get("engine")
    if engine not in ENGINES:
        raise ValueError(f"this runner has no engine {engine!r}: it has {', '.join(ENGINES)}")
    return ENGINES[engine]

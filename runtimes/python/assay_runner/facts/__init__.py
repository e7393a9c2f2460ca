"""Facts about a model that nobody has to run: what it is made of and what one forward asks of a machine.

A model is built and called with tensors that have a shape, a dtype and a device but
no memory (`hollow`), so a model of any size is looked at within seconds. Values that
follow from the inputs and the configuration alone (ids, masks, tables of positions)
stay real: code that looks at them takes the path that it takes in a real run. Only
what met a weight has no values.

Every operator that reaches the dispatcher passes through a `trace`, and small books
are kept of it: `census` (operators, dtypes, shapes), `flops`, `traffic` (bytes read
and written) and `liveness` (activations). `parameters` counts what the model holds.
Where code asks for a value that a weight decided, `forwards` tries what else there
is, and otherwise says which class and line asked: a fact that is not known is null,
with its reason.
"""

from __future__ import annotations

from typing import Any

from assay_runner.process.emit import Emit


def answer(job: dict[str, Any], emit: Emit) -> None:
    """Answers a ``facts`` job: for the job's recipe, at its first point."""
    from . import sheet

    points = job.get("points") or [{}]
    emit.data(sheet.of(job.get("recipe") or {}, points[0]))

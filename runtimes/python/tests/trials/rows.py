"""The same rows at other places of a batch: what an engine gives of a row must not depend on where it stands."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from assay_runner.checking import numerics, reference
from assay_runner.engines.graphs import driver, sampling
from assay_runner.engines.torch import engine
from assay_runner.subjects import experts
from assay_runner.subjects.outputs import Tensors

from .checks import Check, Emit, Seen

_ROWWISE = 1e-2  # of the largest value: a model whose rows move by more sees the whole batch at once


def moved(check: Check, by: int) -> Seen:
    """A batch whose rows were moved on, against what its rows gave before."""
    session = driver.Session(check.job, Emit()) if check.engine != "torch" else None
    torch_session = session.torch if session else engine.Session(check.job, Emit())
    tensors = torch_session.inputs(torch_session.points[0])
    rolled = _rolled(tensors, check.recipe, by)
    with _torch(torch_session) as run:
        before, after = run(tensors), run(rolled)
    expected = {n: t.roll(by, 0) if t.dim() and t.shape[0] == check.batch else t for n, t in before.items()}
    apart = numerics.compare(after, expected)
    if apart.unchecked or apart.max_rel > _ROWWISE:
        return Seen("unjudged", "its rows are not computed one by one")
    found, limit = (after, torch_session.tolerance) if session is None else _ran(session, rolled)
    compared = numerics.compare(found, expected).report(limit, "")
    return Seen(
        "works" if compared["pass"] else "fails", f"rows moved by {by}", compared["max_rel"], compared["tolerance"]
    )


def _rolled(tensors: Tensors, recipe: Mapping[str, Any], by: int) -> Tensors:
    rows = {spec["name"] for spec in recipe["inputs"] if (spec.get("shape") or [""])[0] == "batch"}
    return {name: t.roll(by, 0) if name in rows else t for name, t in tensors.items()}


@contextmanager
def _torch(session: engine.Session) -> Iterator[Any]:
    model = session.built().model
    with experts.looped(model), reference.forgetting(model):
        yield lambda given: session.forward(model, given)


def _ran(session: driver.Session, tensors: Tensors) -> tuple[Tensors, Any]:
    point = session.points[0]

    def start(artefact: Any, compiled: Any) -> float:
        compiled.bind(session.feeds(artefact, point))
        return session.clock(compiled).once()

    with session.chooser().chosen(point, start) as running:
        names = [spec["name"] for spec in running.artefact["graph"]["inputs"]]
        running.compiled.bind({name: sampling.plain(tensors[name].numpy()) for name in names})
        running.compiled.run()
        return sampling.tensors(running.compiled.outputs()), session.limit_of(running.artefact) or 0.0

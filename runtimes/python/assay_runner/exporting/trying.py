"""Tries one way to export after the other, until a graph gives the model's numbers."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import onnx_ir
import torch

from assay_runner.checking import reference
from assay_runner.errors import ExportFailed, WrongExport
from assay_runner.exporting import axes, choices, comparison, constants, naming, settled, steps, traces, writing
from assay_runner.exporting.call import Subject
from assay_runner.exporting.graph import Graph
from assay_runner.exporting.notes import Notes
from assay_runner.exporting.quieting import quiet
from assay_runner.exporting.ways import Way, possible
from assay_runner.process import blame


@dataclass
class Trials:
    """What came out so far of the ways that gave no good graph."""

    tried: list[dict[str, str]] = field(default_factory=list)
    errors: list[Exception] = field(default_factory=list)
    wrong: list[dict[str, Any]] = field(default_factory=list)  # the checks of graphs that ran
    unrun: tuple[Any, Graph] | None = None  # a graph that the checking engine could not run

    def failed(self, way: Way, error: Exception) -> None:
        """A way raised."""
        self.errors.append(error)
        self.tried.append({"exporter": way.label(), "error": traces.line(error)})

    def doubted(self, way: Way, model: Any, graph: Graph) -> None:
        """A way gave a graph that did not pass its check."""
        if "error" in graph.check:
            self.unrun = self.unrun or (model, graph)
            said = f"{graph.check['engine']} cannot run it: {graph.check['error']}"
        else:
            self.wrong.append(graph.check)
            sample = graph.check.get("sample")
            said = f"its numbers are wrong by {graph.check['max_rel']}" + (f" on inputs {sample}" if sample else "")
        self.tried.append({"exporter": way.label(), "error": said[:300]})

    def failure(self) -> BaseException:
        """What to raise when no way is left. Where one of them broke for a reason other than the model, that is no
        answer about the model: the next run tries again."""
        if blamed := next(filter(None, map(blame.blamed, self.errors)), None):
            return blamed
        if self.wrong:
            return self._wrong()
        place = next(filter(None, map(traces.where, self.errors)), "")
        first = self.tried[0]
        stopped = f"{first['exporter']} stopped{f' at {place}' if place else ''}: {first['error']}"
        return ExportFailed(f"no exporter could write this model as a graph; {stopped}", place, self.tried)

    def _wrong(self) -> WrongExport:
        """Of the graphs that ran, the nearest: one that is right on the sample it was traced with before any other."""
        best = min(self.wrong, key=lambda check: (not check.get("sample"), _size(check)))
        size = "without bound" if best["max_rel"] is None else f"by {best['max_rel']:.2g}"
        if sample := best.get("sample"):
            said = f"the exported graph is right only for the sample it was exported with: it is off {size} on inputs "
            return WrongExport(said + sample, best["max_rel"], self.tried)
        said = f"the exported graph's numbers differ from the model's {size}, with every exporter"
        return WrongExport(said, best["max_rel"], self.tried)


def _size(check: Mapping[str, Any]) -> float:
    return float("inf") if check["max_rel"] is None else check["max_rel"]


Export = Callable[[Way, Subject, Path], tuple[Any, Graph]]
"""Exports by one way, writes what came out and checks it."""


def first_good(subject: Subject, folder: Path) -> Graph:
    """Writes the first graph in ONNX that passes its check. Where none does, one that the checking engine could not
    run is kept: that is no proof against it."""
    trials, subject = Trials(), subject.listened()
    if graph := first_passing(subject, folder, possible(subject), _export, trials):
        return graph
    if trials.unrun is None:
        raise trials.failure()
    model, graph = trials.unrun
    writing.write(model, folder)
    return replace(graph, tried=trials.tried, steps=graph.steps + not_free(subject, graph, trials))


def only_passing(subject: Subject, folder: Path, ways: Sequence[Way], export: Export) -> Graph:
    """Writes the first model that passes its check, in a form that no engine is needed to judge."""
    trials, subject = Trials(), subject.listened()
    graph = first_passing(subject, folder, possible(subject, ways), export, trials)
    if graph is None:
        raise trials.failure()
    return graph


def first_passing(subject: Subject, folder: Path, ways: Sequence[Way], export: Export, trials: Trials) -> Graph | None:
    """The first graph that passes its check; the trials have what the others said."""
    for way in ways:
        if way.opened and not trials.wrong:
            continue
        try:
            model, graph = export(way, subject, folder)
        except Exception as error:  # noqa: BLE001 - what stops one exporter, the next one may not meet
            trials.failed(way, error)
            continue
        if graph.check.get("pass"):
            return replace(graph, tried=trials.tried, steps=graph.steps + not_free(subject, graph, trials))
        trials.doubted(way, model, graph)
    return None


def not_free(subject: Subject, graph: Graph, trials: Trials) -> list[dict[str, Any]]:
    """The step that says which axes were to stay free and did not, and what stood against it."""
    names = axes.fixed(subject.tensors, graph.inputs) if subject.options.dynamic else []
    if not names:
        return []
    why = f"requested as dynamic, but the graph is valid for only one size of them: {', '.join(names)}"
    if trials.tried:
        why += f" ({trials.tried[0]['exporter']}: {trials.tried[0]['error'][:200]})"
    return [{"name": "fixed axes", "count": len(names), "why": why}]


def _export(way: Way, subject: Subject, folder: Path) -> tuple[onnx_ir.Model, Graph]:
    model, fixed = exported(way, subject)
    with quiet():
        naming.settle(model, fixed.tensors)
        axes.named(model)
        done = steps.apply(model)
        idle = settle(subject, fixed, {value.name for value in model.graph.inputs})
    writing.write(model, folder)
    names = list(subject.expected)
    found = writing.describe(model.graph.outputs)
    check = comparison.check(folder / writing.FILE, subject, names, held(subject, fixed))
    if check.get("pass"):
        with quiet():
            choices.settle(fixed.notes, subject.run, _given(subject, check))
        if way.harmless:
            _refuse_choices(fixed)
    return model, Graph(
        file=writing.FILE,
        opset=model.opset_imports[""],
        inputs=writing.describe(model.graph.inputs),
        outputs=[{**row, "name": name} for row, name in zip(found, names, strict=True)],
        exporter=way.exporter.name(),
        steps=frozen(subject, fixed, idle) + done,
        tried=[],
        operators=writing.operators(model),
        check=check,
    )


def _given(subject: Subject, check: Mapping[str, Any]) -> list[Mapping[str, torch.Tensor]]:
    """The inputs of the samples on which a graph was run: nothing is known of the others."""
    fixed = {row["name"] for row in check.get("samples", ()) if "fixed" in row}
    return [subject.tensors, *(row.sample.tensors for row in subject.further if row.sample.name not in fixed)]


def _refuse_choices(fixed: Subject) -> None:
    """Raises where an input decides what is chosen that a later way has as a constant, as nothing but what it is."""
    layout = constants.companions(fixed.tensors, constants.ALL)
    for place, sources in fixed.notes.choices.items():
        if by := sorted(sources & set(layout)):
            raise ExportFailed(f"the values of {', '.join(by)} decide at {place}")


def settle(subject: Subject, fixed: Subject, kept: Collection[str]) -> list[str]:
    """The inputs that a graph does not have, that decided something in it, and that could have changed nothing."""
    if subject.options.dynamic:
        return []
    decided = frozenset().union(*fixed.notes.choices.values())
    described = constants.companions(subject.tensors, constants.ALL)
    names = [name for name in described if name not in kept and (name not in fixed.tensors or name in decided)]
    found = [name for name in names if settled.settled(subject.run, subject.samples(), name)]
    fixed.notes.settled(found)
    return found


def exported(way: Way, subject: Subject) -> tuple[Any, Subject]:
    """What an exporter makes of the subject, and the subject as it saw it."""
    options = replace(subject.options, dynamic=way.dynamic)
    shown = subject.shown(way.shown) if way.shown else subject
    fixed = replace(shown.fixed(way.constants), options=options, chosen=way.chosen, opened=way.opened, notes=Notes())
    # What exporters leave in a model, tensors without numbers above all, is forgotten afterwards.
    with reference.forgetting(subject.model), way.kernels(subject.model), quiet():
        return way.exporter.export(fixed), fixed


def held(subject: Subject, fixed: Subject) -> list[str]:
    """The inputs that became constants."""
    return [name for name in subject.tensors if name not in fixed.tensors]


def frozen(subject: Subject, fixed: Subject, idle: Collection[str] = ()) -> list[dict[str, Any]]:
    """The steps that were done while a model was traced: which inputs became constants, and what was noted."""
    names = [name for name in held(subject, fixed) if name not in idle]
    constant = {
        "name": "constant inputs",
        "count": len(names),
        "why": f"{', '.join(names)}: fixed like the shapes, since they say how the other inputs are laid out",
        "inputs": names,
    }
    same = {
        "name": settled.STEP,
        "count": len(idle),
        "why": f"{', '.join(idle)}: with these shapes the model gives the same for every value that it takes",
        "inputs": list(idle),
    }
    return [step for step in (constant, same) if step["count"]] + fixed.notes.steps()

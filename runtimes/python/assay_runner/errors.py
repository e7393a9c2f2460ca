"""The failures that the harness itself names.

Everything else (torch's OutOfMemoryError, an operator's NotImplementedError, an
exception of the model's code) travels under its own type: the name of an
exception is the first thing a failure is classified by.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence


class RunnerError(Exception):
    """Base of every failure that this package raises by itself."""


class HarnessError(RunnerError):
    """Assay's own code broke, or a library is not as that code needs it. It says nothing about the model, and is never
    kept."""


class AbsentDevice(RunnerError):
    """The asked device is not on this machine, or this build of torch cannot reach it."""


class MissingWeights(RunnerError):
    """The asked weights are neither on disk nor to be had."""


class UnreadableModel(RunnerError):
    """A file that was given as a model is none that can be read: empty, cut short, or something else."""


class BadRecipe(RunnerError):
    """The recipe or the job says something that cannot be carried out."""


class Unsuited(BadRecipe):
    """The cell asks for what its model or its engine cannot have, such as text of a model that writes none."""


class BeyondAssay(RunnerError):
    """Assay itself cannot do this yet: it says nothing about the platform or the model."""


class LostCompany(RunnerError):
    """A model that was to run at the same time ended or did not come. It says nothing about the one that waited."""


class LostRank(RunnerError):
    """A process that shares a model's work ended, or hangs: the work of the others cannot go on."""


class MissingCode(RunnerError, ModuleNotFoundError):
    """The model is made by code of its own, which is not here or was not asked for."""


class UnsupportedDType(RunnerError):
    """The engine has no such numeric type."""


class TooLarge(RunnerError, MemoryError):
    """The model cannot fit: known from its parameter count, before anything was allocated."""


class NotInRelease(RunnerError, ModuleNotFoundError):
    """The installed release of a library does not have the asked model: another release is a missing dependency."""


class ExportFailed(RunnerError):
    """No exporter could write the model as a graph. ``where`` is the operator or the line of the model's code at which
    the first one stopped, empty where its error does not say; ``tried`` has each exporter with its error."""

    def __init__(self, message: str, where: str = "", tried: Sequence[Mapping[str, str]] = ()) -> None:
        super().__init__(message)
        self.where, self.tried = where, list(tried)


class WrongExport(RunnerError):
    """The model was written as a graph, but the graph's numbers are not the model's. ``tried`` is as in ExportFailed;
    ``max_rel`` is the smallest error that any exporter reached, None where it is not finite."""

    def __init__(self, message: str, max_rel: float | None = None, tried: Sequence[Mapping[str, str]] = ()) -> None:
        super().__init__(message)
        self.max_rel, self.tried = max_rel, list(tried)


class WrongNumbers(RunnerError):
    """The engine ran the graph and gave numbers that differ from the model's."""


class RefusedGraph(RunnerError):
    """The engine cannot read or compile the graph: an operator that it lacks, or a form of one."""


class BrokenDown(RefusedGraph):
    """The engine broke down over the graph, in a process or a page that lives on: a crash of its own."""


class UnsupportedOperators(RefusedGraph):
    """Operators that the engine lacks keep it from the graph; the message names them where they are known."""


class LibraryAbsent(RunnerError, ModuleNotFoundError):
    """A vendor's library that the engine needs is not there."""


class PageUnopened(RunnerError):
    """No browser could open the page that runs models for the web platforms."""


class PageLost(RunnerError):
    """The page, or its whole browser, ended while it ran the model: a crash."""


class PageTimeout(RunnerError, TimeoutError):
    """The page did not answer in time."""


class PageError(RunnerError):
    """What the page raised: its own words. ``op`` is what it was doing, ``log`` what its libraries printed last."""

    def __init__(self, op: str, name: str, message: str, stack: str = "", log: Sequence[str] = ()) -> None:
        super().__init__(f"{op}: {message}" if name == "Error" else f"{op}: {name}: {message}")
        self.op, self.stack, self.log = op, stack, list(log)

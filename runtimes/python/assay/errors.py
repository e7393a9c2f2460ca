"""What can go wrong, in few kinds: each says what a caller can do about it.

`REASONS` classifies the runner's own failures: which of them mean that something is not here, and which that a
platform cannot run the model. Both let the next platform be tried; everything else is an error of the caller's code or
of the model's and is raised unchanged.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch

from assay_runner import errors as runner


class AssayError(Exception):
    """Base of every error of this package."""


class UnknownModel(AssayError, LookupError):
    """A name that is not a type, no checkpoint and no folder with a config.json; `nearest` are names that are."""

    def __init__(self, message: str, nearest: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.nearest = list(nearest)


class Unavailable(AssayError):
    """Something that was asked for is not on this machine: a device, a library, weights."""


class Unsupported(AssayError):
    """The model, the platform or the dtype cannot do what was asked for, on any machine."""


class BadInput(AssayError, ValueError):
    """An input that the model cannot be given; the message says what it takes."""


class Released(AssayError):
    """The model was used after its release."""


REASONS: tuple[tuple[tuple[type[BaseException], ...], type[AssayError], str | None], ...] = (
    ((runner.AbsentDevice, runner.LibraryAbsent), Unavailable, ""),
    ((runner.MissingWeights, runner.NotInRelease, runner.MissingCode), Unavailable, None),
    ((runner.UnsupportedDType,), Unsupported, "unsupported-dtype"),
    ((runner.ExportFailed, runner.WrongExport), Unsupported, "export"),
    ((runner.RefusedGraph,), Unsupported, "unsupported-operator"),
    ((runner.WrongNumbers,), Unsupported, "wrong-output"),
    ((MemoryError, torch.OutOfMemoryError), Unsupported, "out-of-memory"),
    ((ImportError,), Unavailable, ""),
    ((runner.RunnerError,), Unsupported, None),
)
"""Failures of the runner → the error that a caller gets, and the class of failure that the reason of a fallback begins
with, as in the program's results: "" where something is just not here, None where no other platform would do better."""


def told(error: Exception) -> tuple[AssayError, str]:
    """The error for a caller, and the reason for a fallback; "" where another platform would not do better. What is
    no failure of the runner's is raised as it is."""
    for kinds, cls, name in REASONS:
        if isinstance(error, kinds):
            words = " ".join(str(error).split())
            return cls(words), "" if name is None else f"{name}: {words}" if name else words
    raise error

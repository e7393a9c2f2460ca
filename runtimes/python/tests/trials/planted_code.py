"""Faults in library code, planted at run time in classes and functions, so that models built later have them too.

Each is a rule over what a model is made of: it says what it patches, or that there is nothing to patch. A fault that is
the same on every way through a model makes another model of it, which no law can tell (`alike`); the other ones stand
on one way only, as most faults of libraries do.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any
from unittest import mock

Model = Any


class Lacking(Exception):
    """The model has nothing of the kind."""


@dataclass(frozen=True)
class Fault:
    """What is planted; alike: the same on every way."""

    name: str
    plant: Callable[[Model, ExitStack], None]
    alike: bool = False

    @contextmanager
    def planted(self, model: Model) -> Iterator[None]:
        """Inside, the library has the fault."""
        with ExitStack() as stack:
            self.plant(model, stack)
            yield


def patched(stack: ExitStack, owner: Any, name: str, make: Callable[[Any], Any]) -> None:
    stack.enter_context(mock.patch.object(owner, name, make(getattr(owner, name))))


def code_of(model: Model) -> list[Any]:
    """The Python modules that a model's classes come from."""
    names = {type(module).__module__ for module in model.modules() if ".models." in type(module).__module__}
    return [sys.modules[name] for name in sorted(names)]

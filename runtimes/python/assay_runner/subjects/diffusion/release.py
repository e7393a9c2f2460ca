"""The installed diffusers: imported late; where it is missing, the error says so.

Nothing else in the runner needs diffusers, so nothing else fails without it.
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Iterator
from types import ModuleType

from assay_runner.errors import BadRecipe, NotInRelease

LIBRARIES = ("diffusers", "transformers")
"""Where the classes of a pipeline's parts may come from."""


def library() -> ModuleType:
    """The module diffusers. NotInRelease, which is a missing dependency, where it is not installed."""
    try:
        return importlib.import_module("diffusers")
    except ImportError as error:
        raise NotInRelease(f"diffusers is not installed: pipelines need it (pip install diffusers): {error}") from error


def module(name: str) -> ModuleType:
    """A module of diffusers by its path below the library."""
    return importlib.import_module(f"{library().__name__}.{name}")


def version() -> str:
    """The installed release."""
    return str(library().__version__)


def find(name: str, module: str = "diffusers") -> type:
    """A class by its name and the module that a recipe gives for it."""
    root = library()
    if module.partition(".")[0] not in LIBRARIES or not name.isidentifier():
        raise BadRecipe(f"{module}.{name} is not a class of {' or '.join(LIBRARIES)}")
    try:
        found = getattr(importlib.import_module(module), name, None)
    except ModuleNotFoundError:
        found = None
    if not inspect.isclass(found):
        raise NotInRelease(f"diffusers {root.__version__} comes with no class {module}.{name}")
    return found


def home(cls: type) -> str:
    """The shortest module that `find` finds a class in: the library itself where it exports it."""
    top = cls.__module__.partition(".")[0]
    return top if getattr(importlib.import_module(top), cls.__name__, None) is cls else cls.__module__


def pipelines() -> Iterator[type]:
    """Every pipeline class that the library exports and whose dependencies are installed, by name."""
    root = library()
    for name in sorted(dir(root)):
        found = getattr(root, name, None)  # the library lists names that it then does not have
        base = root.DiffusionPipeline
        if inspect.isclass(found) and issubclass(found, base) and found is not base and found.__name__ == name:
            yield found

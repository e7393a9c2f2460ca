"""Whose error it is: the model's, or Assay's own.

An exporter raises anything, and what it raises of a model is an answer that is kept. What this package raises because
a library has changed, or by its own mistake, is not an answer: it is the harness's and never kept, like
memory or a disk that ran out on the way.
"""

from __future__ import annotations

import errno
import re
import traceback
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

from assay_runner.errors import HarnessError, RunnerError

_PACKAGE = Path(__file__).parents[1]
_MODELS = re.compile(r"[/\\](?:transformers|diffusers)[/\\]models[/\\]|[/\\]transformers_modules[/\\]|[/\\]timm[/\\]")
_LIBRARIES = frozenset({"torch", "transformers", "onnx", "onnx_ir", "onnxscript", "onnxruntime", "diffusers"})
# Only of calls that this package makes of libraries: a model's forward may rightly refuse what a recipe gives it.
_SIGNATURE = re.compile(r"(?<!forward\(\)) (?:got an unexpected keyword argument|takes \d+ positional argument)")
_NO_NAME = re.compile(r"^(?:partially initialized )?module '?[\w.]+'? has no attribute|^type object '")
_NO_MEMORY = re.compile(r"can't allocate memory|out of memory|bad_alloc", re.IGNORECASE)

# What the system refuses whatever the model is. Libraries raise OSError for what they do not find in a checkpoint, too.
_NAMES = ("ENOSPC", "EIO", "EMFILE", "ENFILE", "EDQUOT", "EROFS", "EACCES", "ENOMEM")
_OF_MACHINE = frozenset(getattr(errno, name) for name in _NAMES if hasattr(errno, name))  # Windows lacks some


def blamed(error: BaseException) -> BaseException | None:
    """What to raise in place of a verdict on the model, where the error says nothing about it; None where it does."""
    for one in _chain(error):
        if isinstance(one, HarnessError | MemoryError) or (isinstance(one, OSError) and one.errno in _OF_MACHINE):
            return one
        if isinstance(one, RunnerError):
            return None  # named by this package already
        if _NO_MEMORY.search(str(one)):
            return MemoryError(str(one)[:500])
        if said := _own(one):
            return HarnessError(said)
    return None


def named(error: BaseException) -> BaseException:
    """The error as it is to be reported."""
    if isinstance(error, RunnerError):
        return error
    said = next((said for one in _chain(error) if (said := _own(one))), "")
    if not said:
        return error
    mine = HarnessError(said)
    mine.__cause__ = error
    return mine.with_traceback(error.__traceback__)


def _own(error: BaseException) -> str:
    """What of Assay's own broke, in a line; "" where it was not Assay's."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if "importlib" not in frame.filename]
    own = [i for i, frame in enumerate(frames) if _PACKAGE in Path(frame.filename).parents]
    if not own:
        return ""
    last, beyond = frames[own[-1]], frames[own[-1] + 1 :]
    if not _breaks(error, beyond):
        return ""
    place = f"{Path(last.filename).relative_to(_PACKAGE).as_posix()}:{last.lineno}"
    return f"{type(error).__name__}: {error} (at {place} of Assay's runner)"


def _breaks(error: BaseException, beyond: list[traceback.FrameSummary]) -> bool:
    """Whether an error that left this package's code, with these frames below it, is of the harness."""
    if isinstance(error, ImportError):
        root = (error.name or "").partition(".")[0]
        installed = root in _LIBRARIES and find_spec(root) is not None
        return installed and not any(_MODELS.search(frame.filename) for frame in beyond)
    if isinstance(error, AttributeError):  # modules may answer for names by functions of their own
        return all(frame.name == "__getattr__" for frame in beyond) and bool(_NO_NAME.search(str(error)))
    if beyond:
        return False
    if isinstance(error, NameError):
        return True
    return isinstance(error, TypeError) and bool(_SIGNATURE.search(str(error)))


def _chain(error: BaseException) -> Iterator[BaseException]:
    """The error and what it was caused by, the error first. What `from None` hides is not a cause."""
    seen: BaseException | None = error
    while seen is not None:
        yield seen
        seen = seen.__cause__ or (None if seen.__suppress_context__ else seen.__context__)

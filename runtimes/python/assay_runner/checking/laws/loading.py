"""How the law of saving loads: as anybody does, less what takes time and changes nothing.

Tensors are read one after the other (`HF_DEACTIVATE_ASYNC_LOAD`, the library's own switch: threads take longer than
tiny tensors do), no bars are shown, and regular expressions are compiled when they are first used.
"""

from __future__ import annotations

import importlib
import os
import re
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest import mock

from assay_runner.workarounds import Fault

FAULT = Fault(
    "transformers_compiles_a_pattern_for_each_tensor",
    "transformers",
    ("5.22.2",),
    "loading compiles a regular expression for every tensor",
)
_LOADING = "transformers.core_model_loading"


@contextmanager
def quick() -> Iterator[None]:
    """Inside, transformers saves and loads without bars, threads and needless patterns."""
    with ExitStack() as stack:
        stack.enter_context(_without_bars())
        stack.enter_context(mock.patch.dict(os.environ, HF_DEACTIVATE_ASYNC_LOAD="1"))
        try:
            module = importlib.import_module(_LOADING)
        except ImportError:  # older versions have none, and compile nothing
            module = None
        if module is not None:
            stack.enter_context(mock.patch.object(module, "re", _LATE))
        yield


@contextmanager
def _without_bars() -> Iterator[None]:
    from transformers.utils import logging

    shown = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        if shown:
            logging.enable_progress_bar()


class _Pattern:
    """A regular expression that is compiled when something is asked of it."""

    def __init__(self, *given: Any) -> None:
        self._given = given

    def __getattr__(self, name: str) -> Any:
        return getattr(re.compile(*self._given), name)


class _Late:
    """The module `re`, which compiles nothing before it must."""

    compile = _Pattern

    def __getattr__(self, name: str) -> Any:
        return getattr(re, name)


_LATE = _Late()

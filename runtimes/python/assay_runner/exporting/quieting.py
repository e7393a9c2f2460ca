"""Libraries do not print: what they say on success concerns their own developers."""

from __future__ import annotations

import contextlib
import io
import logging
import warnings
from collections.abc import Iterator


@contextlib.contextmanager
def quiet(level: int = logging.ERROR) -> Iterator[None]:
    """Inside, nothing is printed, nobody is warned, and logs up to the level are not written."""
    before = logging.root.manager.disable
    logging.disable(level)
    try:
        with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(before)

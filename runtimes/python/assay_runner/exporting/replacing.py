"""What of a library's is another one for a while."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def replaced(owner: Any, name: str, instead: Callable[[Any], Any]) -> Iterator[None]:
    """Inside, an attribute is what is made of it. Where it is not there, in another release, nothing is replaced."""
    own = getattr(owner, name, None)
    if own is None:
        yield
        return
    setattr(owner, name, instead(own))
    try:
        yield
    finally:
        setattr(owner, name, own)

"""Parts of a model or a library that are replaced for a while."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

_ABSENT = object()


@contextmanager
def replaced(owner: Any, name: str, instead: Callable[[Any], Any]) -> Iterator[None]:
    """Inside, an attribute is what is made of it. Where it is not there, in another release, nothing is replaced.

    What the owner has from its class is the class's again afterwards: no copy of it stays behind.
    """
    own = getattr(owner, name, _ABSENT)
    if own is _ABSENT:
        yield
        return
    before = vars(owner)
    inherited, plain = name not in before, before.get(name)
    setattr(owner, name, instead(own))
    try:
        yield
    finally:
        if inherited:
            delattr(owner, name)
        else:
            setattr(owner, name, plain)

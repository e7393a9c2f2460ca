"""Which attention masks transformers leaves out.

In an ordinary call it leaves out a mask that hides nothing, or nothing but the future, and says so to the attention
instead. While it is traced it always writes the mask, since the graph may be run with others. For a graph of fixed
shapes whose mask is known the ordinary decision is the right one. It is also not always the same: a few models compute
something different with the mask from without it, and what they compute in an ordinary call is what is expected.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from importlib import import_module
from importlib.util import find_spec

from assay_runner.exporting.following import known
from assay_runner.subjects.replacing import replaced

# What the library asks before it reads a mask's values, by the module that asks.
_ASKED: tuple[tuple[str, str, Callable[..., bool]], ...] = (
    ("transformers.masking_utils", "is_torchdynamo_exporting", lambda: False),
    ("transformers.masking_utils", "is_tracing", lambda tensor=None: tensor is not None and not known(tensor)),
)


@contextmanager
def decided() -> Iterator[None]:
    """Inside, transformers decides on a mask that is known, or absent, as in an ordinary call."""
    with ExitStack() as stack:
        for name, asked, answer in _ASKED if find_spec("transformers") else ():
            if find_spec(name) is not None:  # releases before 4.53 write masks elsewhere, and leave none out
                stack.enter_context(replaced(import_module(name), asked, lambda own, answer=answer: answer))
        yield

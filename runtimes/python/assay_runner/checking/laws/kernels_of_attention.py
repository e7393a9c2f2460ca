"""The law of attention: what computes it does not matter.

Eager against sdpa, by what `subjects.eager` changes: the same modules with the same weights. Flex attention is left
out: transformers compiles it whenever it is called, which takes seconds for each shape.
"""

from __future__ import annotations

from collections.abc import Iterator

from assay_runner.checking.laws import batching
from assay_runner.checking.laws.case import Case
from assay_runner.checking.laws.law import Pair
from assay_runner.subjects.eager import ATTENTION, eager
from assay_runner.subjects.outputs import Tensors
from assay_runner.subjects.samples import Sample


def fused(case: Case) -> str:
    """Why the law says nothing of a model."""
    if case.built.attention != "sdpa":
        return f"its attention is {case.built.attention or 'its own'}, and not sdpa"
    return ""


def attention(case: Case) -> Iterator[Pair]:
    """A row as it is, and a batch in which one is padded."""
    yield _both("a row", case, case.row(0), case.alone(0), Sample("", case.row(0)))
    words = batching.cuttable(case)
    if words:
        made = batching.beside(case, words, after=True)
        sample = Sample(batching.AFTER, made, tuple(one.mask for one in words))
        yield _both("a padded batch", case, made, case.once(batching.AFTER, lambda: made), sample)


def _both(what: str, case: Case, made: Tensors, fast: Tensors, sample: Sample) -> Pair:
    def slow() -> Tensors:
        with eager(case.model, ATTENTION):
            given = sample.visible(case.run(made))
        return {name: t for name, t in given.items() if name in fast}  # weights of attention are eager's alone

    return Pair(what, sample.visible(fast), slow(), made, slow)

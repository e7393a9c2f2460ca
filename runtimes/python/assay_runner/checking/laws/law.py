"""What a law is, and what looking at a model by one gives."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch

from assay_runner.subjects.outputs import Tensors

if TYPE_CHECKING:
    from assay_runner.checking.laws.case import Case

HOLDS, BROKEN, INAPPLICABLE, UNKNOWN = "holds", "broken", "not-applicable", "unknown"


class Inapplicable(Exception):
    """The law says nothing of this model; the message is the reason."""


@dataclass(frozen=True)
class Pair:
    """Two sets of outputs that the law says are the same, and the inputs that the first was made of. `again` computes
    the second once more, for the trial of ties; without it the two must have the same bits."""

    what: str
    found: Tensors
    expected: Tensors
    sample: dict[str, torch.Tensor]
    again: Callable[[], Tensors] | None = None


@dataclass(frozen=True)
class Law:
    """What a right model obeys. `applies` is the rule that says of which models it speaks: the reason why it does not
    speak of this one, or nothing. `check` gives what must be the same."""

    name: str
    says: str
    applies: Callable[[Case], str]
    check: Callable[[Case], Iterable[Pair]]

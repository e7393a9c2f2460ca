"""How much is made small: from everything down to nothing."""

from __future__ import annotations

from dataclasses import dataclass

# What a rule makes small. A rung names the aspects it touches; rules of other aspects keep the default.
LAYERS = "layers"  # depth, and what counts layers
EXPERTS = "experts"
WORDS = "words"  # vocabulary, token ids, positions, windows
FEEDFORWARD = "feedforward"
WIDTHS = "widths"  # hidden sizes, heads
EXTENTS = "extents"  # pixels, patches, frames, queries
OPEN = "open"  # widths and heads that defaults leave open are given small values too


@dataclass(frozen=True)
class Rung:
    """One step of the ladder."""

    name: str
    aspects: frozenset[str]


# On the default configurations of transformers 5.22 the first rung serves nine types of ten. The others are there for
# models whose widths are tied to constants in their code, then for those whose feature maps are.
LADDER = (
    Rung("small", frozenset({LAYERS, EXPERTS, WORDS, FEEDFORWARD, WIDTHS, EXTENTS})),
    Rung("open", frozenset({LAYERS, EXPERTS, WORDS, FEEDFORWARD, WIDTHS, EXTENTS, OPEN})),
    Rung("wide", frozenset({LAYERS, EXPERTS, WORDS, FEEDFORWARD, EXTENTS})),
    Rung("large", frozenset({LAYERS, EXPERTS, WORDS})),
    Rung("shallow", frozenset({LAYERS, EXPERTS})),
    Rung("default", frozenset()),
)

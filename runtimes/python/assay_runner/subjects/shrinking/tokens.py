"""Token ids in a small vocabulary: one map over the whole configuration, so that equal ids stay equal."""

from __future__ import annotations

import re
from collections.abc import Iterable

from .rules import VOCABULARY

# Names of token ids. How many experts a token gets is not one.
TOKEN = re.compile(
    r"(?!num_experts_per_token)\w*(_token_ids?|_token_index|_token_indices|_token_idx|_token|_tok_id|_id)|token_id_\w+"
)
# Ids below this stay what they are; those above are handed out downward from the end of the vocabulary.
RESERVED = 60
# Text is drawn from this range: above the special ids at the start, below those at the end.
LOW, HIGH = 5, VOCABULARY - RESERVED


def is_token(name: str) -> bool:
    """Whether a value of this name is a token id."""
    return TOKEN.fullmatch(name) is not None


class TokenIds:
    """Hands out small ids, in order of first sight."""

    def __init__(self) -> None:
        self._small: dict[object, int] = {}

    def small(self, token: int) -> int:
        """The id's small value; negative ids mean "none" and stay."""
        return token if token < VOCABULARY - RESERVED else self.fresh(token)

    def fresh(self, key: object) -> int:
        """The small id kept for this key."""
        return self._small.setdefault(key, VOCABULARY - 1 - len(self._small))

    def several(self, tokens: Iterable[int]) -> list[int]:
        """The small values of a list of ids."""
        return [self.small(token) for token in tokens]

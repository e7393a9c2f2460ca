"""Tiny configurations by rule.

A type's default configuration is taken as a dictionary and made small: narrow,
shallow, with few words, experts and pixels, yet with one of every kind of layer.
``rules`` is the table for single numbers, each row with its reason; ``layers``
chooses which layers stay, ``tokens`` maps token ids into the small vocabulary,
``images`` scales pictures and what is counted from them, ``relations`` repairs
what belongs together, ``absent`` fills what defaults leave open. ``tree`` walks
the configuration with these. ``ladder`` lists from small to default how much is
made small: the first rung on which a model runs is taken.

A type that needs a value of its own is a row of ``special.json``, never an ``if``.
"""

from .ladder import LADDER, Rung
from .tree import shrink

__all__ = ["LADDER", "Rung", "shrink"]

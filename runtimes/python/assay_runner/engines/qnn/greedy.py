"""The greedy loop over two graphs of fixed shapes, `prefill` and `decode`, with a cache of a fixed size between them.

The prompt goes through `prefill`, each later token through `decode`. The cache has a place for every token of the text;
a place that nothing was written to holds zeros, and is masked. Which place a token goes to is said by `slot`, which is
one there and zero elsewhere: the graph writes the cache itself, and gives it back whole.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from assay_runner.subjects.generation import IDS, LOGITS
from assay_runner.subjects.streams import Clock

Arrays = Mapping[str, np.ndarray]
Stage = Callable[[Arrays], Arrays]
"""A graph: what goes in and what comes out, by their names."""

PREFILL, DECODE = "prefill", "decode"
PAST = "past_"  # before the name of an output of the cache, where it goes in again
HIDDEN = np.float32(-3e4)  # added to what is not to be seen: exp() of it is zero, and fp16 holds it


ASKED = ("input_ids", "visible", "places")  # what every stage reads


def asked(ids: np.ndarray, first: int, places: int) -> dict[str, np.ndarray]:
    """What a stage is given beside the cache: tokens of which the first one stands at a place of the text. The names
    are not the model's own, by which exporters would take masks and positions for constants."""
    batch, count = ids.shape
    rows = np.arange(first, first + count)
    seen = np.arange(places)[None, :] <= rows[:, None]
    mask = np.where(seen, np.float32(0), HIDDEN)
    return {
        "input_ids": ids.astype(np.int64),
        "visible": np.array(np.broadcast_to(mask, (batch, 1, count, places)), np.float32),
        "places": np.array(np.broadcast_to(rows, (batch, count)), np.int64),
    }


def slot(place: int, places: int) -> np.ndarray:
    """Where the cache is written: one at a place, zero elsewhere."""
    return np.eye(places, dtype=np.float32)[place].reshape(1, 1, places, 1)


def continued(
    prefill: Stage, decode: Stage, ids: np.ndarray, new: int, clock: Clock, beside: Arrays | None = None
) -> dict[str, np.ndarray]:
    """Continues a prompt by this many tokens: the logits of each step, and what was chosen. What is read beside the
    text goes with the prompt."""
    seen = ids.shape[1]
    places = seen + new
    clock.begin()
    made = prefill({**asked(ids, 0, places), **(beside or {})})
    logits, chosen = [], []
    for step in range(new):
        logits.append(made[LOGITS])
        clock.logits()
        chosen.append(made[LOGITS].argmax(-1)[:, None])
        clock.step(chosen[-1][:, 0])
        if step + 1 < new:
            place = seen + step
            cache = {PAST + name: array for name, array in made.items() if name != LOGITS}
            made = decode({**asked(chosen[-1], place, places), "slot": slot(place, places), **cache})
    return {LOGITS: np.stack(logits, 1), IDS: np.concatenate(chosen, 1)}

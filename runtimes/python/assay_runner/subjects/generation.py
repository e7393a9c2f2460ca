"""Generation of a fixed length: what the engines that generate share.

A prompt is continued by a number of tokens (NEW_TOKENS unless the cell says another), greedily, and never ends early:
the end of a text is switched off, so that every engine does the same work. An output is the logits of each step
(`logits`) and what was chosen (`generated`). Once two engines choose differently they continue different texts, so
logits are compared up to there. `greedy` is the loop of every engine that has none of its own: how an engine takes a
step, and where it keeps its past, is its own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import torch

from assay_runner.subjects.outputs import Tensors
from assay_runner.subjects.streams import Clock

MODE = "generate"
PROGRAM = "continue"
NEW_TOKENS = 16
LOGITS, IDS = "logits", "generated"
TOKENS, CACHE = "tokens", "cache"  # fields of a cell, and of the recipe that it makes
PROMPT = "prompt"  # of an encoder, the output that the decoder begins with

Step = Callable[[np.ndarray, int], np.ndarray]
"""New ids (batch, n), and how many tokens stand before them → the logits after the last one (batch, vocabulary)."""


def recipe(plain: Mapping[str, Any], cell: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """The recipe of the same model, continued as a cell asks: its call was one for a forward, and so is what is known
    of rounding and damage. What is generated grows, and no mask of its own goes along. What is usual is left out, so
    that subjects keep their hashes."""
    kept = {name: value for name, value in plain.items() if name not in ("rounding", "damages", "unmoved")}
    given = [spec for spec in plain.get("inputs", ()) if spec["name"] != "decoder_attention_mask"]
    asked = {name: value for name in (TOKENS, CACHE) if (value := (cell or {}).get(name))}
    if asked.get(TOKENS) == NEW_TOKENS:
        del asked[TOKENS]
    return {**kept, "program": PROGRAM, "call": {}, "inputs": given, **asked}


def longer(specs: Sequence[Mapping[str, Any]], given: Tensors, name: str, whole: torch.Tensor) -> Tensors:
    """The inputs of one pass over a whole text in place of its beginning: masks go on with ones, marks with zeros. An
    input that says more than that of every word is a ValueError."""
    shapes = {spec["name"]: spec.get("shape", []) for spec in specs}
    made, more = dict(given), whole.shape[1] - given[name].shape[1]
    for key, t in given.items():
        shape = shapes.get(key, [])
        if key == name or t.ndim < 2 or len(shape) < 2 or shape[1] != shapes[name][1]:
            continue
        if t.ndim > 2 or t.is_floating_point():
            raise ValueError(f"{key} says something of every word, and nothing of new ones")
        filler = t.new_full((t.shape[0], more), 1 if "mask" in key else 0)
        made[key] = torch.cat([t, filler], dim=1)
    return {**made, name: whole}


def prompted(given: Mapping[str, Any]) -> tuple[int, int]:
    """How many texts are continued by these inputs, and how long what is given of them is."""
    first = next(iter(given.values()))
    prompt = given.get("decoder_input_ids", given.get("input_ids"))
    return first.shape[0], 1 if prompt is None else prompt.shape[-1]


def comparable(found: Tensors, expected: Tensors | None) -> tuple[Tensors, Tensors | None]:
    """Both outputs up to the step, that one included, at which their choices part. What is not a generation stays."""
    agreed_on = agreed(found, expected)
    if expected is None or agreed_on is None:
        return found, expected
    return _first(found, agreed_on + 1), _first(expected, agreed_on + 1)


def agreed(found: Tensors, expected: Tensors | None) -> int | None:
    """How many tokens both chose before they parted; None where there is nothing to compare. Sound that a model
    generates is no choice: it is compared as any output."""
    if expected is None or IDS not in found or IDS not in expected or found[IDS].shape != expected[IDS].shape:
        return None
    if found[IDS].is_floating_point():
        return None
    same = (found[IDS] == expected[IDS]).all(dim=0).tolist()
    return same.index(False) if False in same else len(same)


def unproven(found: Tensors, expected: Tensors | None) -> str:
    """Why logits that agree prove nothing of a generation: the very first choices differ, so that no step with a cache
    was compared. "" where one was, and for what is no generation."""
    if agreed(found, expected) != 0 or expected is None or expected[IDS].shape[1] < 2:
        return ""
    return "the first token is already another one, so no step with a cache was compared"


def greedy(step: Step, prompt: np.ndarray, new: int, clock: Clock) -> dict[str, np.ndarray]:
    """Continues a prompt by this many tokens. The clock has begun: what an engine does before its first step (encoding
    what is read beside the prompt) belongs to the first token."""
    ids, seen = prompt, 0
    logits, chosen = [], []
    for _ in range(new):
        last = step(ids, seen)
        seen += ids.shape[1]
        clock.logits()
        ids = last.argmax(-1)[:, None].astype(np.int64)
        clock.step(ids[:, 0])
        logits.append(last)
        chosen.append(ids)
    return {LOGITS: np.stack(logits, 1), IDS: np.concatenate(chosen, 1)}


def _first(tensors: Tensors, steps: int) -> Tensors:
    return {name: t[:, :steps] if name in (LOGITS, IDS) else t for name, t in tensors.items()}

"""A text that was generated token by token, against one pass over all of it.

The pass has no cache and no loop: position by position it gives the logits that a loop without a cache would have
chosen from, given the tokens before. So it tells tokens that a right loop would not have chosen, whatever kept the
past: a cache that grows, one of a fixed size, or none.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch

from assay_runner.subjects import generation
from assay_runner.subjects.outputs import Tensors

_TEXT, _TARGET = "input_ids", "decoder_input_ids"


def judged(
    model: torch.nn.Module,
    specs: Sequence[Mapping[str, Any]],
    given: Tensors,
    made: Tensors,
    whole: torch.Tensor,
    tolerance: float,
) -> dict[str, Any]:
    """How the steps of a generation (`made`) compare with one pass over its whole text. `tokens` are those before the
    first that the pass would not have chosen; a tie, within the tolerance, is no other choice."""
    try:
        with torch.no_grad():
            logits = _pass(model, specs, given, whole, made[generation.IDS].shape[1])
    except Exception as err:  # what a model asks of one pass may not be in its recipe: then nothing is said
        return _unknown(f"{type(err).__name__}: {err}".splitlines()[0][:200], tolerance)
    steps, ids = made[generation.LOGITS].to(logits), made[generation.IDS].to(logits.device)
    if logits.shape != steps.shape:
        return _unknown("it gives no logits of every word", tolerance)
    largest = logits.abs().max().item() or 1.0
    apart = ((steps - logits).abs().max() / largest).item()
    # A choice by the library's own rules, not by these logits, is none to compare: only what the steps chose by them.
    own = steps.argmax(-1) == ids
    short = logits.amax(-1) - logits.gather(-1, ids[..., None])[..., 0]
    same = (~own | (short <= tolerance * largest)).all(dim=0).tolist()
    agreed = same.index(False) if False in same else len(same)
    passed = apart <= tolerance and agreed == len(same)
    return {"tokens": agreed, "max_rel": apart, "tolerance": tolerance, "pass": passed, "note": ""}


def _pass(
    model: torch.nn.Module, specs: Sequence[Mapping[str, Any]], given: Tensors, whole: torch.Tensor, new: int
) -> torch.Tensor:
    """The logits that the new tokens are chosen from."""
    name = _TARGET if getattr(model.config, "is_encoder_decoder", False) else _TEXT
    if name in given and whole.shape[1] < given[name].shape[1] + new:
        raise ValueError("it generates from embeddings, and tells no whole text")
    text = generation.longer(specs, given, name, whole) if name in given else {**given, name: whole}
    return model(**text, use_cache=False).logits[:, -new - 1 : -1].float()


def _unknown(why: str, tolerance: float) -> dict[str, Any]:
    return {"tokens": None, "max_rel": None, "tolerance": tolerance, "pass": None, "note": why}

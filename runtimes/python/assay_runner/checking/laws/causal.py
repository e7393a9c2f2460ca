"""Laws about time: later tokens change nothing earlier, and a cache nothing at all.

How transformers says that a model is causal: its class generates (and has no encoder, or is given what its decoder
reads), its configuration says `is_decoder`, or its attention says `is_causal`; and no attention to words denies it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import torch

from assay_runner.checking.laws.case import Case, seeded
from assay_runner.checking.laws.law import Inapplicable, Pair
from assay_runner.subjects import generation
from assay_runner.subjects.expressions import evaluate
from assay_runner.subjects.outputs import Tensors

NEW = 3  # tokens that are generated with a cache
_TEXT, _TARGET = "input_ids", "decoder_input_ids"
TOWER = re.compile(r"vision|visual|image|audio|speech|sound|video|former|connector|projector", re.IGNORECASE)
"""Parts that read what is no text."""


def generates(case: Case) -> bool:
    """Whether a model's class generates text."""
    able = getattr(case.model, "can_generate", None)
    return bool(able and able())


def text(case: Case) -> str:
    """The input that a causal model reads from left to right; nothing where there is none."""
    if case.encodes:
        return _TARGET if _TARGET in case.one else ""
    return _TEXT if _TEXT in case.one and case.one[_TEXT].dim() == 2 else ""


def is_causal(case: Case) -> str:
    """Why the causality law says nothing of a model."""
    name = text(case)
    if not name:
        return "it is given no text that a decoder reads"
    if case.draws:
        return "it draws numbers while it runs"
    if not _declared(case, name):
        return "nothing says that it is causal"
    return "" if later(case, name) else "no word stands after what is placed"


def is_declared(case: Case) -> bool:
    """Whether something says that a model is causal."""
    name = text(case)
    return bool(name) and _declared(case, name)


def _declared(case: Case, name: str) -> bool:
    config = case.config
    if name == _TARGET:
        return bool(getattr(config, "is_encoder_decoder", False))
    if any(getattr(config, word, None) is False for word in ("causal", "is_causal", "is_decoder_causal")):
        return False
    if (
        getattr(config, "use_bidirectional_attention", None) in (True, "all")
        or getattr(config, "attn_type", "") == "bi"
    ):
        return False
    said = [
        module.is_causal
        for name, module in case.model.named_modules()
        if isinstance(getattr(module, "is_causal", None), bool) and not TOWER.search(name)
    ]
    if not all(said):
        return False
    return generates(case) or bool(getattr(config, "is_decoder", False)) or bool(said)


def later(case: Case, name: str) -> int:
    """How many of the last words may be others."""
    places = case.spec(name).get("place", [])
    last = max(
        (evaluate(row["at"], case.sizes) + evaluate(row.get("count", 1), case.sizes) for row in places), default=0
    )
    length = case.one[name].shape[1]
    return min(max(length // 3, 1), length - last, length - 1)


def causality(case: Case) -> Iterator[Pair]:
    """The last words are others."""
    name = text(case)
    length, count = case.one[name].shape[1], later(case, name)
    base = case.row(0)
    changed = base[name].clone()
    changed[:, length - count :] = case.row(1)[name][:, length - count :]
    same = changed == base[name]
    same[:, : length - count] = False
    changed[same] = base[name][:, :1].expand_as(changed)[same]
    expected = _before(case.alone(0), length, count)
    if not expected:
        raise Inapplicable("no output has its words' positions")
    made = {**base, name: changed}
    again = _before_again(case, base, length, count)
    yield Pair("other words at the end", _before(case.run(made), length, count), expected, made, again)


def _before(outputs: Tensors, length: int, count: int) -> Tensors:
    return {name: t[:, : length - count] for name, t in outputs.items() if t.dim() >= 2 and t.shape[1] == length}


def _before_again(case: Case, base: Tensors, length: int, count: int) -> Callable[[], Tensors]:
    return lambda: _before(case.run(base), length, count)


def caches(case: Case) -> str:
    """Why the cache law says nothing of a model."""
    if not generates(case):
        return "it does not generate"
    if not text(case):
        return "it is given no text that a decoder reads"
    if case.draws:
        return "it draws numbers while it runs"
    return "" if _declared(case, text(case)) else "nothing says that it is causal"


def cache(case: Case) -> Iterator[Pair]:
    """The library's own generation, token by token with a cache, and one pass over all that it gave."""
    name = text(case)
    given = {key: t for key, t in case.row(0).items() if key != "decoder_attention_mask"}
    steps, whole = generated(case, given, name)
    made = longer(case, given, name, whole)
    expected = _steps(case.run(made), whole.shape[1])
    if expected is None or expected.shape != steps.shape:
        raise Inapplicable("it gives no logits of every word")
    yield Pair(f"{NEW} tokens with a cache", {"logits": steps}, {"logits": expected}, given, _steps_again(case, made))


def _steps_again(case: Case, made: Tensors) -> Callable[[], Tensors]:
    return lambda: {"logits": _steps(case.run(made), 0)}


def _steps(outputs: Tensors, length: int) -> torch.Tensor | None:
    """The logits that chose the new tokens."""
    logits = outputs.get("logits")
    if logits is None or logits.dim() != 3 or (length and logits.shape[1] != length):
        return None
    return logits[:, -NEW - 1 : -1]


def generated(case: Case, given: Tensors, name: str) -> tuple[torch.Tensor, torch.Tensor]:
    """The logits of each step, and the whole text."""
    from transformers import GenerationMixin

    model: Any = case.model
    seeded(case.seed)
    if getattr(type(model), "_sample", None) is not GenerationMixin._sample:
        raise Inapplicable(f"{type(model).__name__} generates in its own way")
    own = type(model).generate is not GenerationMixin.generate
    if own and name != _TARGET:
        raise Inapplicable(f"{type(model).__name__} generates in its own way")
    try:
        with torch.inference_mode():
            out = GenerationMixin.generate(model, **given, **settings(model))
    except Exception as error:
        if own:  # its own generation does what this one lacks
            raise Inapplicable(f"{type(model).__name__} generates in its own way") from error
        raise
    if not hasattr(out, "logits") or out.logits is None or len(out.logits) != NEW:
        raise Inapplicable(f"{type(model).__name__} generates in its own way")
    if out.sequences.shape[1] < given[name].shape[1] + NEW:
        raise Inapplicable(f"{type(model).__name__} generates from embeddings, and tells no whole text")
    return torch.stack(out.logits, 1), out.sequences


def settings(model: Any) -> dict[str, Any]:
    """Greedy, with a cache, of a fixed length."""
    config = model.generation_config
    named = (getattr(config, word, None) for word in ("decoder_start_token_id", "bos_token_id", "pad_token_id"))
    start = next((token for token in named if token is not None), 0)
    return {
        "max_new_tokens": NEW, "min_new_tokens": NEW, "do_sample": False, "num_beams": 1, "use_cache": True,
        "pad_token_id": config.pad_token_id or 0, "eos_token_id": None, "decoder_start_token_id": start,
        "return_dict_in_generate": True, "output_logits": True,
    }  # fmt: skip


def longer(case: Case, given: Mapping[str, torch.Tensor], name: str, whole: torch.Tensor) -> Tensors:
    """The inputs of one pass over the whole text: masks go on with ones, marks with zeros."""
    try:
        return generation.longer(case.recipe["inputs"], given, name, whole)
    except ValueError as why:
        raise Inapplicable(str(why)) from why

"""Faults in masks, kernels of attention and what a forward is given."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any
from unittest import mock

import torch

from .planted_code import Lacking, Model, code_of, patched


def _makers(model: Model, word: str) -> list[tuple[Any, str]]:
    found = [(m, name) for m in code_of(model) for name in vars(m) if name.startswith("create_") and word in name]
    if not found:
        raise Lacking("no such mask is made")
    return found


def _masks(word: str, change: dict[str, Any]) -> Callable[[Model, ExitStack], None]:
    def plant(model: Model, stack: ExitStack) -> None:
        for module, name in _makers(model, word):
            patched(stack, module, name, lambda own: lambda *args, **kwargs: own(*args, **{**kwargs, **change}))

    return plant


def _open(model: Model, stack: ExitStack) -> None:
    """Causal masks let everything through."""
    from transformers.masking_utils import create_bidirectional_mask

    known = set(inspect.signature(create_bidirectional_mask).parameters)
    for module, name in _makers(model, "causal_mask"):

        def made(own: Any) -> Any:
            return lambda *a, **kw: create_bidirectional_mask(*a, **{k: v for k, v in kw.items() if k in known})

        patched(stack, module, name, made)  # fmt: skip


def _one_too_far(model: Model, stack: ExitStack) -> None:
    """Every token sees the one after it."""
    peek = {"or_mask_function": lambda b, h, q, k: k == q + 1}
    for module, name in _makers(model, "causal_mask"):
        patched(stack, module, name, lambda own: lambda *a, **kw: own(*a, **{**kw, **peek}))


def _kernel(name: str, change: Callable[[dict[str, Any]], dict[str, Any]]) -> Callable[[Model, ExitStack], None]:
    """A kernel of attention is called otherwise than the others."""

    def plant(model: Model, stack: ExitStack) -> None:
        from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS

        def wrong(own: Any) -> Any:
            def call(module: Any, q: Any, k: Any, v: Any, attention_mask: Any = None, **kw: Any) -> Any:
                kw.setdefault("scaling", q.shape[-1] ** -0.5)
                kw = change({"attention_mask": attention_mask, **kw})
                return own(module, q, k, v, kw.pop("attention_mask"), **kw)

            return call

        if getattr(model.config, "_attn_implementation", "") != "sdpa":
            raise Lacking("its attention is not sdpa")
        if name == "sdpa":
            table = ALL_ATTENTION_FUNCTIONS
            stack.enter_context(mock.patch.dict(table._global_mapping, {"sdpa": wrong(table._global_mapping["sdpa"])}))
            return
        own = [m for m in code_of(model) if hasattr(m, "eager_attention_forward")]
        if not own:
            raise Lacking("it has no eager attention of this kind")
        for module in own:
            patched(stack, module, "eager_attention_forward", wrong)

    return plant


def _scaled(kw: dict[str, Any]) -> dict[str, Any]:
    return {**kw, "scaling": (kw.get("scaling") or 1.0) * 1.5}


def _unmasked(kw: dict[str, Any]) -> dict[str, Any]:
    return {**kw, "attention_mask": None}


def _both_kernels(model: Model, stack: ExitStack) -> None:
    for name in ("sdpa", "eager"):
        _kernel(name, _scaled)(model, stack)


def _call(change: Callable[[Model, dict[str, Any]], dict[str, Any]]) -> Callable[[Model, ExitStack], None]:
    """The model's own forward gets other arguments."""

    def plant(model: Model, stack: ExitStack) -> None:
        def made(own: Any) -> Any:
            return functools.wraps(own)(lambda self, *args, **kw: own(self, *args, **change(self, kw)))

        patched(stack, type(model), "forward", made)

    return plant


def _mask_shifted(model: Model, kw: dict[str, Any]) -> dict[str, Any]:
    mask = kw.get("attention_mask")
    if mask is None or mask.dim() != 2:
        return kw
    return {**kw, "attention_mask": torch.cat([mask[:, :1], mask[:, :-1]], dim=1)}


def _mask_given_away(model: Model, kw: dict[str, Any]) -> dict[str, Any]:
    mask = kw.get("attention_mask")
    return kw if mask is None else {**kw, "attention_mask": torch.ones_like(mask)}


def _past(kw: dict[str, Any]) -> int:
    cache = kw.get("past_key_values")
    return cache.get_seq_length() if hasattr(cache, "get_seq_length") else 0


def _late(model: Model, kw: dict[str, Any]) -> dict[str, Any]:
    """With a past, positions are one too high."""
    ids = kw.get("input_ids")
    if not _past(kw) or ids is None or "position_ids" not in inspect.signature(type(model).forward).parameters:
        return kw
    return {**kw, "position_ids": torch.arange(ids.shape[1])[None].expand(ids.shape) + _past(kw) + 1}


def _unplaced(model: Model, kw: dict[str, Any]) -> dict[str, Any]:
    """Positions that are given are not used."""
    return {**kw, "position_ids": None} if "position_ids" in kw and not _past(kw) else kw

"""Which attention masks transformers leaves out.

In an ordinary call it leaves out a mask that hides nothing, or nothing but the future, and says so to the attention
instead. While it is traced it always writes the mask, since the graph may be run with others. For a graph of fixed
shapes whose mask is known the ordinary decision is the right one. It is also not always the same: a few models compute
something different with the mask from without it, and what they compute in an ordinary call is what is expected.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, MutableMapping
from contextlib import ExitStack, contextmanager
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from assay_runner.exporting.following import known
from assay_runner.subjects.replacing import replaced
from assay_runner.workarounds import Fault

FAULTS = (
    Fault(
        "transformers_masks_of_ones_open_attention",
        "transformers",
        ("5.22.2",),
        "a causal model whose layers do not say so attends to later tokens where its mask hides nothing",
    ),
    Fault(
        "transformers_masks_of_ones_close_attention",
        "transformers",
        ("5.22.2",),
        "an encoder whose layers say that they are causal attends to nothing later where its mask hides nothing",
    ),
)
_OPEN = "_assay_open"  # on a mask for attention: whether it is left out in an ordinary call

# What the library asks before it reads a mask's values, by the module that asks.
_ASKED: tuple[tuple[str, str, Callable[..., bool]], ...] = (
    ("transformers.masking_utils", "is_torchdynamo_exporting", lambda: False),
    ("transformers.masking_utils", "is_tracing", lambda tensor=None: tensor is not None and not known(tensor)),
)


@contextmanager
def decided(opened: bool = False) -> Iterator[None]:
    """Inside, transformers decides on a mask that is known, or absent, as in an ordinary call. opened: on one that is
    traced too: it is left out where it hides nothing, and with it whatever else the attention was to leave out."""
    with ExitStack() as stack:
        for name, asked, answer in _ASKED if find_spec("transformers") else ():
            if find_spec(name) is not None:  # releases before 4.53 write masks elsewhere, and leave none out
                stack.enter_context(replaced(import_module(name), asked, lambda own, answer=answer: answer))
        if opened and find_spec("transformers.masking_utils"):
            stack.enter_context(_opened())
        yield


@contextmanager
def _opened() -> Iterator[None]:
    """Inside, a mask for attention lets everything through where the mask that it was made of hides nothing, but for
    what comes later in layers that are causal."""
    from transformers import masking_utils, modeling_utils

    with (
        _exchanged(masking_utils.ALL_MASK_ATTENTION_FUNCTIONS, _let_through),
        _exchanged(modeling_utils.ALL_ATTENTION_FUNCTIONS, _let_past_through),
    ):
        yield


@contextmanager
def _exchanged(functions: MutableMapping[str, Any], made_of: Callable[[Any], Any]) -> Iterator[None]:
    """Inside, a library's function for torch's attention is another one."""
    own = functions["sdpa"]
    functions["sdpa"] = made_of(own)
    try:
        yield
    finally:
        functions["sdpa"] = own


def _let_through(own: Callable[..., torch.Tensor | None]) -> Callable[..., torch.Tensor | None]:
    def mask(*args: Any, **kwargs: Any) -> torch.Tensor | None:
        made, given = own(*args, **kwargs), kwargs.get("attention_mask")
        left_out = kwargs.get("allow_is_causal_skip", True) or kwargs.get("allow_is_bidirectional_skip", False)
        if made is None or given is None or known(given) or not left_out:
            return made
        all_ = (given != 0).all()
        made = made | all_
        setattr(made, _OPEN, all_)
        return made

    return mask


def _let_past_through(own: Callable[..., Any]) -> Callable[..., Any]:
    def attend(
        module: Any,
        query: Any,
        key: Any,
        value: Any,
        attention_mask: Any,
        *args: Any,
        is_causal: Any = None,
        **kwargs: Any,
    ) -> Any:
        all_ = getattr(attention_mask, _OPEN, None)
        causal = getattr(module, "is_causal", True) if is_causal is None else is_causal
        if all_ is not None and causal and query.shape[2] > 1:
            past = torch.ones(query.shape[2], key.shape[2], dtype=torch.bool).tril()
            attention_mask = attention_mask & (past | ~all_)
        return own(module, query, key, value, attention_mask, *args, is_causal=is_causal, **kwargs)

    return attend


class _Denying(TorchFunctionMode):
    """Inside, whatever is asked of a traced tensor is answered with no."""

    def __torch_function__(self, func: Any, types: Any, args: tuple = (), kwargs: dict | None = None) -> Any:
        if func is torch.Tensor.__bool__ and not known(args[0]):
            return False
        return func(*args, **(kwargs or {}))


def undecided(make: Callable[[], Mapping[str, torch.Tensor]], given: torch.Tensor) -> dict[str, torch.Tensor]:
    """The masks for attention, by the kind of layer, of a model that makes none where nothing is hidden: those that it
    makes otherwise, which let everything through where the mask that they are made of hides nothing."""
    with _Denying():
        made = make()
    all_ = (given != 0).all()
    return {name: _opened_by(all_, mask) for name, mask in made.items()}


def _opened_by(all_: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    return mask | all_ if mask.dtype is torch.bool else torch.where(all_, torch.zeros_like(mask), mask)

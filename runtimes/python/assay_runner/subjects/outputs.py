"""What a model gave, as named tensors.

Model outputs, tuples, lists and dictionaries are walked; caches and everything
else that is not a tensor are left out. Names are paths: ``logits``,
``hidden_states.0``.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import torch

_CACHES = frozenset({"past_key_values", "cache_params", "mems", "rnn_state", "state", "past_buckets_states"})

Tensors = dict[str, torch.Tensor]


def flatten(output: Any) -> Tensors:
    """The tensors of an output by name."""
    return dict(_walk(output, ""))


def _walk(value: Any, path: str) -> Iterator[tuple[str, torch.Tensor]]:
    if isinstance(value, torch.Tensor):
        yield path or "output", value
    elif isinstance(value, Mapping):
        for name, part in value.items():
            if name not in _CACHES:
                yield from _walk(part, f"{path}.{name}" if path else str(name))
    elif isinstance(value, (tuple, list)):
        for i, part in enumerate(value):
            yield from _walk(part, f"{path}.{i}" if path else str(i))


def describe(tensors: Tensors) -> list[dict[str, Any]]:
    """Name, shape and dtype of each."""
    return [
        {"name": n, "shape": list(t.shape), "dtype": str(t.dtype).removeprefix("torch.")} for n, t in tensors.items()
    ]


def home(tensors: Tensors) -> Tensors:
    """The same tensors on the CPU."""
    return {name: t.detach().to("cpu") for name, t in tensors.items()}


def digest(tensors: Tensors) -> str:
    """A hash over names, shapes and bytes."""
    total = hashlib.sha256()
    for name, t in tensors.items():
        total.update(f"{name} {list(t.shape)} {t.dtype}\n".encode())
        total.update(t.contiguous().view(-1).view(torch.uint8).numpy())
    return total.hexdigest()[:16]


def keep(job: Mapping[str, Any], index: int, tensors: Tensors) -> None:
    """Writes a point's outputs to the file that the job names for it, if it names one."""
    files = (job.get("options") or {}).get("keep") or []
    if index < len(files) and files[index]:
        arrays = {n: (t.float() if t.dtype is torch.bfloat16 else t).numpy() for n, t in tensors.items()}
        np.savez(files[index], **arrays)


def kept(file: str) -> Tensors:
    """What such a file holds."""
    with np.load(file, allow_pickle=False) as arrays:
        return {name: torch.from_numpy(arrays[name]) for name in arrays.files}


def constant(tensors: Tensors) -> bool:
    """Whether the first output that could vary does not: a model that ignores its input.

    A loss that codecs give beside their output is a mean over the batch, repeated: it need not vary.
    """
    for name, t in tensors.items():
        if t.is_floating_point() and t.numel() > 1 and name != "loss":
            return bool((t == t.flatten()[0]).all())
    return False

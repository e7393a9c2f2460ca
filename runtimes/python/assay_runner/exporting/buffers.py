"""Buffers that a model reads numbers out of: strides, paddings, positions, switches.

torch.export traces every buffer. Those of whole numbers, and the smallest of the others, say how a model is made and
are not weights; while a model is traced they are plain attributes with known values instead.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch

_SMALL = 16  # elements


@contextmanager
def known(model: torch.nn.Module) -> Iterator[None]:
    """Inside, such buffers are copies with known values."""
    taken = [
        (module, name, buffer)
        for module in model.modules()
        for name, buffer in module._buffers.items()
        if buffer is not None and _plain(module, buffer)
    ]
    try:
        for module, name, buffer in taken:
            del module._buffers[name]
            vars(module)[name] = buffer.detach().clone()
        yield
    finally:
        for module, name, buffer in taken:
            vars(module).pop(name, None)
            module._buffers[name] = buffer


def _plain(module: torch.nn.Module, buffer: torch.Tensor) -> bool:
    """Whether a buffer is not a weight. What a normalisation has counted and averaged stays with its weights."""
    norm = isinstance(module, torch.nn.modules.batchnorm._NormBase)
    return not norm and (buffer.numel() <= _SMALL or not (buffer.is_floating_point() or buffer.is_complex()))

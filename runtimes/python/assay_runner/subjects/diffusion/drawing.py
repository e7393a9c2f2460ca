"""Noise that a pipeline draws by itself, from our streams.

Schedulers and encoders ask diffusers' `randn_tensor` for noise. Torch's generators
give other numbers for other dtypes, devices and releases; a reference in another
dtype would then be about another picture. Inside `drawn_by_rule` the n-th request of a
call gets the n-th stream, drawn in float32 and cast, with the moments of the noise that
was asked for.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from itertools import count
from typing import Any

import torch

from assay_runner.subjects import stream
from assay_runner.subjects.replacing import replaced

_NAME = "randn_tensor"
_UNIT = stream.Draw(0.0, 1.0)


@contextmanager
def drawn_by_rule(key: str) -> Iterator[None]:
    """Inside, whoever of diffusers asks for noise gets the key's streams, from the first one on."""
    from diffusers.utils import torch_utils

    original, numbers = torch_utils.randn_tensor, count()

    def drawn(
        shape: Sequence[int], generator: Any = None, device: Any = None, dtype: Any = None, layout: Any = None
    ) -> torch.Tensor:
        values = stream.floats(f"noise/{key}/{next(numbers)}", math.prod(shape), _UNIT).reshape(tuple(shape))
        return torch.from_numpy(values).to(device=device, dtype=dtype or torch.get_default_dtype())

    holders = [
        module
        for name, module in list(sys.modules.items())
        if name.startswith("diffusers.") and vars(module).get(_NAME) is original
    ]
    with ExitStack() as stack:
        for module in holders:
            stack.enter_context(replaced(module, _NAME, lambda own: drawn))
        yield

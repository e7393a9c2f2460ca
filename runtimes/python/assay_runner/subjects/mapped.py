"""Tensors in files: how a model is built whose weights the memory cannot hold beside everything else.

Large tensors that are allocated inside `Files` are pages of a file. The system keeps in memory what fits there, and
writes back what it needs the room for, so that nobody runs out of memory; it is only slower.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch

from assay_runner.subjects.dispatching import Mode

LEAST_BYTES = 1 << 20  # a smaller tensor is not worth a file

_EMPTY = (torch.ops.aten.empty.memory_format, torch.ops.aten.new_empty.default, torch.ops.aten.empty_like.default)


class Files(Mode):
    """Inside, new tensors of a megabyte and more are in files of a folder. A file has no name once its tensor
    is there: it goes with the tensor."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self._folder = folder

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        made = func(*args, **(kwargs or {}))
        if func in _EMPTY and made.device.type == "cpu" and made.nbytes >= LEAST_BYTES and made.is_contiguous():
            self._move(made)
        return made

    def _move(self, made: torch.Tensor) -> None:
        file = self._folder / "weights.part"
        stored = torch.from_file(str(file), shared=True, size=made.numel(), dtype=made.dtype)
        file.unlink()
        made.set_(stored.untyped_storage(), 0, made.shape, made.stride())

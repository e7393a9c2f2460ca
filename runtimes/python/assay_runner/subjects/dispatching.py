"""Modes that see every operator of torch."""

from __future__ import annotations

from torch.utils._python_dispatch import TorchDispatchMode

from assay_runner.workarounds import Fault

FAULT = Fault(
    "torch_modes_import_the_compiler",
    "torch",
    ("2.15.0",),
    "the first operator in a mode imports torch's compiler, which takes seconds",
)


class Mode(TorchDispatchMode):
    """A mode inside which nothing is compiled."""

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        return False  # of a compiler that is not there: see FAULT

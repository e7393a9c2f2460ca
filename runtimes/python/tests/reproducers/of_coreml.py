"""Faults of coremltools."""

import sys

import pytest
import torch


class _Called(torch.nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, x):
        return self.function(x)


_FUNCTIONS = {
    "where.ScalarOther": lambda x: torch.where(x > 0, x, -1.0),
    "__and__.Tensor": lambda x: ((x > 0) & (x < 1)).float(),
    "__or__.Tensor": lambda x: ((x > 0) | (x < 1)).float(),
    "masked_scatter.default": lambda x: x.masked_scatter(x > 0, x + 1),
}


def coremltools_lacks_operators():
    if sys.platform == "win32":
        pytest.skip("coremltools is not for Windows")
    known = [name for name, function in _FUNCTIONS.items() if _converts(function)]
    print(f"coremltools has {known}")
    return not known


def _converts(function):
    import coremltools

    program = torch.export.export(_Called(function).eval(), (torch.randn(3, 4),)).run_decompositions({})
    try:
        coremltools.convert(program, minimum_deployment_target=coremltools.target.iOS18, skip_model_load=True)
    except Exception:  # noqa: BLE001 - it raises anything
        return False
    return True

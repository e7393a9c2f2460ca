"""Whether a compiled model that was written and read again is still the same.

OpenVINO restores some graphs wrongly and says nothing: an output is a row short, or holds no numbers. A blob is held
against the model that it was made of before anybody relies on it. Both run on the same inputs, which need not mean
anything: whole numbers are 0, which every table has, and masks let everything through.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import openvino as ov

_DYNAMIC = 4  # how long an axis is whose length is open
_NEAR = 1e-4  # of an output's largest value: threads may add in another order


def same(model: ov.CompiledModel, restored: ov.CompiledModel | None) -> bool:
    """Whether both compute the same. What does not run is not the same."""
    if restored is None:
        return False
    given = [_input(port) for port in model.inputs]
    try:
        expected = _ran(model, given)
        found = _ran(restored, given)
    except RuntimeError:
        return False
    return len(expected) == len(found) and all(_near(*pair) for pair in zip(expected, found, strict=True))


def _ran(model: ov.CompiledModel, given: list[np.ndarray]) -> list[np.ndarray]:
    request = model.create_infer_request()
    request.infer(given)
    return [tensor.data.copy() for tensor in request.output_tensors]


def _input(port: Any) -> np.ndarray:
    shape = [_DYNAMIC if length.is_dynamic else length.get_length() for length in port.get_partial_shape()]
    kind = port.get_element_type().to_dtype()
    if kind.kind == "f":
        return np.random.default_rng(0).standard_normal(shape).astype(kind)
    return np.full(shape, any("mask" in name for name in port.get_names()), kind)


def _near(expected: np.ndarray, found: np.ndarray) -> bool:
    if expected.shape != found.shape:
        return False
    wide, other = expected.astype(np.float64), found.astype(np.float64)
    scale = np.abs(wide[np.isfinite(wide)]).max(initial=0.0)
    return bool(np.allclose(other, wide, rtol=0.0, atol=_NEAR * scale, equal_nan=True))

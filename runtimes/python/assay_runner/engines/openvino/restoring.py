"""Whether a compiled model that was written and read again is still the same.

OpenVINO restores some graphs wrongly and says nothing: an output is a row short, or holds no numbers. A blob is
compared with the model that it was made from before anybody relies on it. Both run on the same inputs, which must be
some that the model is meant for: with others (ids that announce no image, and an image) OpenVINO's kernels write where
they must not, and the process dies, now or later.
"""

from __future__ import annotations

import numpy as np
import openvino as ov

from assay_runner.engines.contract import Arrays
from assay_runner.workarounds import Fault

FAULT = Fault(
    "openvino_restores_other_models", "openvino", ("2026.4.1",), "some models compute something else once restored"
)

_NEAR = 1e-4  # of an output's largest value: threads may add in another order


def same(model: ov.CompiledModel, restored: ov.CompiledModel | None, feeds: Arrays) -> bool:
    """Whether both compute the same of inputs by name. What does not run is not the same."""
    if restored is None:
        return False
    try:
        expected = _ran(model, feeds)
        found = _ran(restored, feeds)
    except RuntimeError:
        return False
    return len(expected) == len(found) and all(_near(*pair) for pair in zip(expected, found, strict=True))


def _ran(model: ov.CompiledModel, feeds: Arrays) -> list[np.ndarray]:
    request = model.create_infer_request()
    given = [feeds[next(name for name in port.get_names() if name in feeds)] for port in model.inputs]
    request.infer(given)
    return [tensor.data.copy() for tensor in request.output_tensors]


def _near(expected: np.ndarray, found: np.ndarray) -> bool:
    if expected.shape != found.shape:
        return False
    wide, other = expected.astype(np.float64), found.astype(np.float64)
    scale = np.abs(wide[np.isfinite(wide)]).max(initial=0.0)
    return bool(np.allclose(other, wide, rtol=0.0, atol=_NEAR * scale, equal_nan=True))

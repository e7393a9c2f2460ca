"""The steps that only the HTP needs: they keep the numbers, and the emulator gives these numbers after them."""

import numpy as np
import onnx
import onnx_ir
import pytest
from qnn_graphs import CASES, EMULATED, built, feeds, near, on_cpu, on_htp

from assay_runner.engines.qnn import rewrites
from assay_runner.engines.qnn.backend import QNN


def rewritten(case):
    model = onnx_ir.from_proto(built(case))
    return case.step(model), onnx_ir.to_proto(model)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_step_keeps_the_numbers(case):
    count, after = rewritten(case)
    given = feeds(after, case.scale)
    assert count == case.count
    onnx.checker.check_model(after, full_check=True)
    np.testing.assert_allclose(on_cpu(after, given), on_cpu(built(case), given), rtol=1e-4, atol=1e-5)


@pytest.mark.skipif(not EMULATED, reason="Qualcomm's emulator is for Linux on x86-64")
@pytest.mark.parametrize("case", [case for case in CASES if case.count], ids=lambda case: case.name)
def test_the_emulator_gives_the_numbers_after_it(case):
    _, after = rewritten(case)
    given = feeds(after, case.scale)
    assert near(on_htp(after, given), on_cpu(built(case), given))


def test_the_careful_steps_are_asked_for_by_the_second_attempt():
    first, second = QNN.attempts({"engine": "qnn"})
    assert first.settings == {}
    assert second.settings == {rewrites.NUMBERS: rewrites.CAREFULLY}

"""Faults of Qualcomm's provider, its compiler and its emulator.

`test_engine_qnn_rewrites.py` runs the same graphs after their steps, which give the right numbers.
"""

import json
import signal
import tempfile
from pathlib import Path

import pytest
from onnxruntime.capi import onnxruntime_pybind11_state as states
from qnn_graphs import CASES, EMULATED, built, feeds, near, on_cpu, on_htp
from torch_emit import Emit, job

from assay_runner.engines.graphs import driver
from assay_runner.engines.qnn import rewrites
from assay_runner.exporting.steps import clips
from assay_runner.subjects.replacing import replaced
from reproducers._children import ended_by

_RECIPES = Path(__file__).parents[4] / "internal" / "catalog" / "data" / "recipes.json"


def _wrong(name):
    """Whether the HTP refuses a graph, cannot finish it, or gives other numbers."""
    if not EMULATED:
        pytest.skip("Qualcomm's emulator is for Linux on x86-64")
    case = next(case for case in CASES if case.name == name)
    given = feeds(built(case), case.scale)
    try:
        found = on_htp(built(case), given)
    except (states.Fail, states.EPFail, states.NotImplemented, states.RuntimeException):
        return True
    return not near(found, on_cpu(built(case), given))


def qnn_gathers_no_truth_values():
    return _wrong("truth values gathered whole")


def qnn_compares_no_truth_values():
    return _wrong("truth values compared")


def qnn_lacks_functions():
    names = ("inverse hyperbolic sine", "absolute sums", "triangle", "whole numbers negated")
    return all(_wrong(name) for name in names)


def qnn_pads_no_whole_numbers():
    return all(_wrong(name) for name in ("whole numbers padded", "truth values padded"))


def qnn_knows_few_einsums():
    return _wrong("sums of products")


def qnn_finishes_no_norm_of_powers():
    return _wrong("norm of powers")


def htp_sums_squares_in_fp16():
    return _wrong("norm")


def htp_clips_whole_numbers_as_others():
    """No graph of a few nodes shows it: a tiny diffusion_gemma does, whose experts get indices like 1065353216."""
    if not EMULATED:
        pytest.skip("Qualcomm's emulator is for Linux on x86-64")
    recipe = next(row for row in json.loads(_RECIPES.read_bytes())["recipes"] if row["type"] == "diffusion_gemma")
    asked = job(recipe, "check", platform="qnn", engine="qnn", dtype="fp16")
    emit, others = Emit(), tuple(step for step in rewrites.STEPS if step.apply is not clips.to_limits)
    assert len(others) == len(rewrites.STEPS) - 1
    with tempfile.TemporaryDirectory() as exports, replaced(rewrites, "STEPS", lambda own: others):
        try:
            driver.run(asked | {"options": {"exports": exports}}, emit)
        except RuntimeError as error:
            return "out of data bounds" in str(error)
    return not emit.reports[0]["numerics"]["pass"]


def htp_gives_no_whole_outputs_of_64_bits():
    return _wrong("whole outputs")


def htp_crashes_on_tiles_of_five_axes():
    if not EMULATED:
        pytest.skip("Qualcomm's emulator is for Linux on x86-64")
    code = "from reproducers import of_qnn; of_qnn._wrong('repeats of five axes')"
    return ended_by(code) == signal.SIGSEGV


def qnn_makes_no_images_of_columns():
    return _wrong("images of columns")


def qnn_scatters_to_few_axes():
    return _wrong("a row scattered")


def htp_takes_few_axes():
    return _wrong("five axes")


def htp_activations_of_products_are_coarse():
    return _wrong("tanh of a product")


def htp_softmax_of_large_numbers_is_coarse():
    return _wrong("wide softmax")


def htp_softplus_is_coarse():
    return _wrong("softplus")


def htp_squares_leave_fp16():
    return _wrong("norm by squares, large")

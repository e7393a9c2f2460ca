"""Rewriting steps that only the HTP needs, of the same kind as those of the export, which every engine shares.

Most keep the HTP from what it computes wrongly, or not at all. The careful ones cost time on the device, and are done
where a graph without them did not give the model's numbers.
"""

from __future__ import annotations

from typing import Any

import onnx_ir

from assay_runner.engines.qnn import (
    activations,
    convolutions,
    exponents,
    norms,
    pads,
    results,
    softmaxes,
    tiles,
    truths,
)
from assay_runner.exporting import steps
from assay_runner.exporting.steps import (
    Step,
    clips,
    columns,
    einsums,
    fewer_axes,
    functions,
    gathers,
    groups,
    remainders,
    scatters,
)
from assay_runner.workarounds import Fault

NUMBERS, CAREFULLY = "numbers", "careful"
"""The setting of an attempt that asks for the careful steps, and its value."""

OF_FOUR_AXES = "Tanh Neg Sqrt Sin Cos Log Floor Ceil Round Sign Max Min CumSum".split()
"""Operators that the HTP does not take with five axes, as most others."""

_QNN, _SEEN = "onnxruntime-qnn", ("2.7.0",)

STEPS = (
    Step("products by expert of all rows", groups.SHAPES, groups.over_all_rows),
    Step(
        "norms of scaled values",
        Fault("htp_sums_squares_in_fp16", _QNN, _SEEN, "the HTP sums squares in fp16, which ends at 65504"),
        norms.scaled,
    ),
    Step("sums of products are products of matrices", einsums.FEW, einsums.to_products),
    Step(
        "limits of whole numbers are Max and Min",
        Fault("htp_clips_whole_numbers_as_others", _QNN, _SEEN, "the HTP's Clip returns integers as fp32"),
        clips.to_limits,
    ),
    Step(
        "whole outputs through 32 bits",
        Fault("htp_gives_no_whole_outputs_of_64_bits", _QNN, _SEEN, "the HTP's 64-bit integers have 32 bits"),
        results.through_32_bits,
    ),
    Step(
        "gathers along one axis",
        Fault(
            "htp_gathers_zeros_along_axes_of_one",
            _QNN,
            _SEEN,
            "the HTP's GatherND gives zeros where an axis has one element",
        ),
        gathers.by_number,
    ),
    Step(
        "operands of norms spread",
        Fault(
            "htp_reads_wrong_rows_before_norms",
            _QNN,
            _SEEN,
            "the HTP's fused Add and LayerNormalization read the wrong row of a repeated operand",
        ),
        norms.spread_operands,
    ),
    Step(
        "wide windows widened",
        Fault(
            "htp_is_wrong_for_wide_windows",
            _QNN,
            _SEEN,
            "the HTP is wrong for windows of 9 and more over a short axis that keeps its length",
        ),
        convolutions.widen,
    ),
    Step(
        "functions by plainer ones",
        Fault("qnn_lacks_functions", _QNN, _SEEN, "QNN has no Asinh, ReduceL1 or Trilu, and negates no integers"),
        functions.plainer("Asinh", "ReduceL1", "Trilu", "Neg"),
    ),
    Step(
        "blocks of images transposed",
        Fault("qnn_makes_no_images_of_columns", _QNN, _SEEN, "QNN has no Col2Im"),
        columns.to_transposes,
    ),
    Step(
        "whole numbers joined instead of padded",
        Fault("qnn_pads_no_whole_numbers", _QNN, _SEEN, "QNN pads neither integers nor booleans"),
        pads.joined,
    ),
    Step(
        "truth values joined as numbers",
        Fault("htp_joins_truth_values_wrongly", _QNN, _SEEN, "the HTP concatenates a constant with them wrongly"),
        truths.join_as_numbers,
    ),
    Step(
        "repeats along few axes",
        Fault(
            "htp_crashes_on_tiles_of_five_axes",
            _QNN,
            _SEEN,
            "the HTP's compiler crashes on Tile of integers with five axes",
        ),
        tiles.of_few_axes,
    ),
    Step(
        "rows chosen instead of scattered",
        Fault("qnn_scatters_to_few_axes", _QNN, _SEEN, "QNN scatters elements to no tensor of five axes"),
        scatters.rows_to_choices,
    ),
    Step("elements scattered by comparing", "QNN scatters along one axis in few forms", scatters.by_comparing),
    Step(
        "operators of few axes",
        Fault("htp_takes_few_axes", _QNN, _SEEN, "the HTP takes five axes at most, and some operators of four only"),
        fewer_axes.few(dict.fromkeys(fewer_axes.OPERATORS, 5) | dict.fromkeys(OF_FOUR_AXES, 4)),
    ),
    Step(
        "remainders by quotients",
        Fault("htp_takes_remainders_in_fp16", _QNN, _SEEN, "the HTP's Mod of integers is in fp16"),
        remainders.by_quotients,
    ),
    Step(
        "exponents from -80",
        Fault(
            "htp_exponents_far_below_zero_are_huge",
            _QNN,
            _SEEN,
            "the HTP's Exp gives 131008 for some numbers below -88",
        ),
        exponents.limited,
    ),
)

CAREFUL = (
    Step(
        "activations apart from products",
        Fault(
            "htp_activations_of_products_are_coarse",
            _QNN,
            _SEEN,
            "the HTP's fused product and activation look the latter up in a coarse table",
        ),
        activations.apart,
    ),
    Step(
        "softmax of numbers up to zero",
        Fault(
            "htp_softmax_of_large_numbers_is_coarse",
            _QNN,
            _SEEN,
            "the HTP's softmax of large numbers is coarser than its fp16",
        ),
        softmaxes.less_largest,
    ),
    Step(
        "softplus in parts",
        Fault("htp_softplus_is_coarse", _QNN, _SEEN, "the HTP's Softplus is wrong by 1e-2, and like its Exp below -88"),
        exponents.softplus,
    ),
    Step(
        "hard swish in parts",
        Fault(
            "htp_hard_swish_of_small_numbers_is_zero", _QNN, _SEEN, "the HTP's HardSwish of numbers below 1e-4 is zero"
        ),
        activations.hard_swish,
    ),
    Step(
        "norms of scaled squares",
        Fault("htp_squares_leave_fp16", _QNN, _SEEN, "the HTP's squares end at 65504, and begin at 6e-8"),
        norms.scaled_squares,
    ),
)


def apply(model: onnx_ir.Model, careful: bool = False) -> list[dict[str, Any]]:
    """Applies the steps, the careful ones if they are asked for, and gives those that changed something."""
    return steps.apply(model, (*STEPS, *(CAREFUL if careful else ())))

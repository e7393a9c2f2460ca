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
    remainders,
    results,
    softmaxes,
    tiles,
    truths,
)
from assay_runner.exporting import steps
from assay_runner.exporting.steps import Step, clips, einsums, gathers

NUMBERS, CAREFULLY = "numbers", "careful"
"""The setting of an attempt that asks for the careful steps, and its value."""

STEPS = (
    Step("norms of scaled values", "the HTP sums squares in fp16, which ends at 65504", norms.scaled),
    Step("sums of products are products of matrices", "QNN knows few forms of Einsum", einsums.to_products),
    Step("limits of whole numbers are Max and Min", "the HTP's Clip returns integers as fp32", clips.to_limits),
    Step("whole outputs through 32 bits", "the HTP's 64-bit integers have 32 bits", results.through_32_bits),
    Step("gathers along one axis", "the HTP's GatherND gives zeros where an axis has one element", gathers.by_number),
    Step(
        "operands of norms spread",
        "the HTP's fused Add and LayerNormalization read the wrong row of a repeated operand",
        norms.spread_operands,
    ),
    Step(
        "wide windows widened",
        "the HTP is wrong for windows of 9 and more over a short axis that keeps its length",
        convolutions.widen,
    ),
    Step("truth values joined as numbers", "the HTP concatenates a constant with them wrongly", truths.join_as_numbers),
    Step("repeats along few axes", "the HTP's compiler crashes on Tile of integers with five axes", tiles.of_few_axes),
    Step("remainders by quotients", "the HTP's Mod of integers is in fp16", remainders.by_quotients),
    Step("exponents from -80", "the HTP's Exp gives 131008 for some numbers below -88", exponents.limited),
)

CAREFUL = (
    Step(
        "activations apart from products",
        "the HTP's fused product and activation look the latter up in a coarse table",
        activations.apart,
    ),
    Step(
        "softmax of numbers up to zero",
        "the HTP's softmax of large numbers is coarser than its fp16",
        softmaxes.less_largest,
    ),
    Step("softplus in parts", "the HTP's Softplus is wrong by 1e-2, and like its Exp below -88", exponents.softplus),
    Step("hard swish in parts", "the HTP's HardSwish of numbers below 1e-4 is zero", activations.hard_swish),
    Step("norms of scaled squares", "the HTP's squares end at 65504, and begin at 6e-8", norms.scaled_squares),
)


def apply(model: onnx_ir.Model, careful: bool = False) -> list[dict[str, Any]]:
    """Applies the steps, the careful ones if they are asked for, and gives those that changed something."""
    return steps.apply(model, (*STEPS, *(CAREFUL if careful else ())))

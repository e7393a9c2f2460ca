"""Guards against rows of attention in which everything is masked.

torch's attention gives zeros for such a row, where a softmax gives NaN. Exporters write this out as
Where(IsNaN(p), 0, p) behind every softmax. It does nothing where no row can be masked whole, and nothing either where
the rows that are masked whole are set to zero behind the attention, as transformers' exporter does.
"""

from __future__ import annotations

import numpy as np
import onnx_ir

from assay_runner.exporting.steps import editing

_LOWEST = float(np.finfo(np.float32).min)


def remove(model: onnx_ir.Model) -> int:
    """Removes the guards that provably do nothing."""
    done = 0
    for guard in editing.nodes(model, "Where"):
        softmax = _guarded(guard)
        if softmax is None:
            continue
        if _never_masked_whole(softmax.inputs[0]):
            done += editing.bypass_to(guard, softmax.outputs[0])
        elif (bias := _zeroed_behind(guard, softmax)) is not None:
            _lowest(bias)
            done += editing.bypass_to(guard, softmax.outputs[0])
    return done


def _guarded(guard: onnx_ir.Node) -> onnx_ir.Node | None:
    """The softmax of Where(IsNaN(softmax), 0, softmax)."""
    test = editing.producer(guard.inputs[0], "IsNaN")
    softmax = editing.producer(guard.inputs[2], "Softmax")
    if test is None or softmax is None or test.inputs[0] is not softmax.outputs[0]:
        return None
    return softmax if _all_zero(guard.inputs[1]) else None


def _all_zero(value: onnx_ir.Value | None) -> bool:
    array = editing.constant(value)
    return array is not None and not array.any()


def _never_masked_whole(scores: onnx_ir.Value) -> bool:
    """Whether every row of a softmax's input has a finite number, if the products that it comes from are finite."""
    total = editing.producer(scores, "Add")
    if total is None:
        return editing.producer(scores, "MatMul", "Mul", "Div", "Gemm") is not None
    masks = [array for array in map(editing.constant, total.inputs) if array is not None]
    rest = [value for value in total.inputs if editing.constant(value) is None]
    rows = len(masks) == 1 and bool(np.isfinite(masks[0]).any(axis=-1).all())
    return rows and len(rest) == 1 and editing.producer(rest[0], "MatMul", "Mul", "Div", "Gemm") is not None


def _zeroed_behind(guard: onnx_ir.Node, softmax: onnx_ir.Node) -> onnx_ir.Node | None:
    """The Where(mask, 0, -inf) that is added to a softmax's input, if the rows that the same mask hides whole are set
    to zero behind the product with the values."""
    total = editing.producer(softmax.inputs[0], "Add")
    bias = next((node for value in (total.inputs if total else ()) if (node := editing.producer(value, "Where"))), None)
    if bias is None or not _all_zero(bias.inputs[1]) or not _negative(bias.inputs[2]):
        return None
    users = [use.node for use in guard.outputs[0].uses()]
    if len(users) != 1 or users[0].op_type != "MatMul" or users[0].inputs[0] is not guard.outputs[0]:
        return None
    behind = [use.node for use in users[0].outputs[0].uses()]
    zeroed = all(_zeroes(node, users[0].outputs[0], bias.inputs[0]) for node in behind)
    return bias if behind and zeroed and not users[0].outputs[0].is_graph_output() else None


def _negative(value: onnx_ir.Value | None) -> bool:
    array = editing.constant(value)
    return array is not None and array.size == 1 and float(array.reshape(())) <= _LOWEST


def _zeroes(node: onnx_ir.Node, attended: onnx_ir.Value, mask: onnx_ir.Value) -> bool:
    """Whether a node is Where(not any(mask), 0, attended)."""
    if node.op_type != "Where" or node.inputs[2] is not attended or not _all_zero(node.inputs[1]):
        return False
    negated = editing.producer(node.inputs[0], "Not")
    any_ = editing.producer(negated.inputs[0], "Cast") if negated else None
    most = editing.producer(any_.inputs[0], "ReduceMax") if any_ else None
    number = editing.producer(most.inputs[0], "Cast") if most else None
    return number is not None and number.inputs[0] is mask


def _lowest(bias: onnx_ir.Node) -> None:
    """Lets a mask add the lowest number and not minus infinity: the other rows are the same, these are numbers."""
    if editing.scalar(bias.inputs[2]) == _LOWEST:
        return
    array = np.full(editing.constant(bias.inputs[2]).shape, _LOWEST, np.float32)
    bias.replace_input_with(2, editing.known(bias.graph, array, bias.outputs[0]))

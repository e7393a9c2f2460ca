"""Computes what follows from constants alone.

Exporters fold as well, by a reference implementation that gives up on some operators and takes minutes for others.
Here each node is run by ONNX Runtime itself, so that what is folded is what would have been computed.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import onnx
import onnx_ir

from assay_runner.exporting.steps import editing

_NEVER = frozenset(
    "Constant RandomNormal RandomNormalLike RandomUniform RandomUniformLike Bernoulli Multinomial Dropout "
    "DequantizeLinear QuantizeLinear".split()
)
_GRAPHS = (onnx_ir.AttributeType.GRAPH, onnx_ir.AttributeType.GRAPHS)
_MOST_BYTES = 16 << 20  # a larger result stays computed: the file would grow by more than the run gains


def fold(model: onnx_ir.Model) -> int:
    """Replaces every node of the main graph whose inputs are constants by its results."""
    done = 0
    for node in list(model.graph):
        given = [editing.constant(value) for value in node.inputs if value is not None]
        if not _foldable(node) or not given or any(array is None for array in given):
            continue
        results = _run(node, given, model)
        if results is None or sum(array.nbytes for array in results) > max(_MOST_BYTES, *(a.nbytes for a in given)):
            continue
        for value, array in zip(node.outputs, results, strict=True):
            editing.take_place(value, editing.known(model.graph, array, value))
        model.graph.remove(node, safe=True)
        done += 1
    return done


def _foldable(node: onnx_ir.Node) -> bool:
    plain = all(attr.type not in _GRAPHS for attr in node.attributes.values())
    own = node.domain in ("", "ai.onnx") and node.op_type not in _NEVER
    return plain and own and all(value.name for value in node.outputs)


def _run(node: onnx_ir.Node, given: Sequence[np.ndarray], model: onnx_ir.Model) -> list[np.ndarray] | None:
    """A node's results; None where the runtime has no kernel for it."""
    import onnxruntime

    arrays = dict(zip((value.name for value in node.inputs if value is not None), given, strict=True))
    graph = onnx.helper.make_graph(
        [onnx_ir.to_proto(node)],
        "node",
        [_described(name, array) for name, array in arrays.items()],
        [onnx.helper.make_empty_tensor_value_info(value.name) for value in node.outputs],
    )
    opset = onnx.helper.make_opsetid("", model.opset_imports[""])
    made = onnx.helper.make_model(graph, opset_imports=[opset], ir_version=model.ir_version)
    options = onnxruntime.SessionOptions()
    options.log_severity_level, options.intra_op_num_threads = 4, 1
    try:
        session = onnxruntime.InferenceSession(made.SerializeToString(), options, providers=["CPUExecutionProvider"])
        return session.run(None, arrays)
    except Exception:  # noqa: BLE001 - a node that cannot be folded is left as it is
        return None


def _described(name: str, array: np.ndarray) -> onnx.ValueInfoProto:
    return onnx.helper.make_tensor_value_info(name, onnx.helper.np_dtype_to_tensor_dtype(array.dtype), array.shape)

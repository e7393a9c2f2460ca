"""Slices, pads and resizes in forms that every browser has."""

from __future__ import annotations

import numpy as np
import onnx_ir

from assay_runner.exporting.steps import editing


def strided_slices(model: onnx_ir.Model) -> int:
    """Slices in steps become gathers of known places."""
    done = 0
    for node in editing.nodes(model, "Slice"):
        sizes = editing.shape(node.inputs[0])
        given = [editing.constant(value) for value in node.inputs[1:]]
        if sizes is None or len(given) < 4 or any(array is None for array in given) or (given[3] == 1).all():
            continue
        value, rows = node.inputs[0], list(zip(*(array.tolist() for array in given), strict=True))
        shape = list(sizes)
        for start, end, axis, step in rows:
            places = np.arange(shape[axis])[slice(start, None if step < 0 and end < -shape[axis] else end, step)]
            shape[axis] = len(places)
            known = editing.known(node.graph, places.astype(np.int32), node.outputs[0])
            value = editing.before(node, "Gather", [value, known], {"axis": axis}, shape, node.outputs[0].dtype)
        editing.replace(node, "Identity", [value])
        done += 1
    return done


def edge_pads(model: onnx_ir.Model) -> int:
    """Pads with the values at the edges become gathers that name those more than once."""
    done = 0
    for node in editing.nodes(model, "Pad"):
        sizes, pads = editing.shape(node.inputs[0]), editing.constant(node.inputs[1])
        if node.attributes.get_string("mode", "constant") != "edge" or sizes is None or pads is None:
            continue
        axes = editing.constant(node.inputs[3]) if len(node.inputs) > 3 else np.arange(len(sizes))
        if axes is None or (pads < 0).any():
            continue
        value, shape = node.inputs[0], list(sizes)
        for axis, before, after in zip(axes.tolist(), pads[: len(axes)], pads[len(axes) :], strict=True):
            if before or after:
                places = np.clip(np.arange(-before, shape[axis] + after), 0, shape[axis] - 1)
                shape[axis] = len(places)
                known = editing.known(node.graph, places.astype(np.int32), node.outputs[0])
                value = editing.before(node, "Gather", [value, known], {"axis": axis}, shape, node.outputs[0].dtype)
        editing.replace(node, "Identity", [value])
        done += 1
    return done


_NATIVE = "half_pixel"  # how WebNN's resampling counts


def resizes(model: onnx_ir.Model) -> int:
    """Resizes that browsers lack (cubic, or with another rule for places) become products with known matrices: an
    interpolation is a sum along each axis, with weights that depend on nothing but the sizes."""
    done = 0
    for node in editing.nodes(model, "Resize"):
        sizes, wanted = editing.shape(node.inputs[0]), editing.shape(node.outputs[0])
        mode = node.attributes.get_string("mode", "nearest")
        rule = node.attributes.get_string("coordinate_transformation_mode", _NATIVE)
        if sizes is None or wanted is None or mode not in ("linear", "cubic") or len(sizes) < 3:
            continue
        if mode == "linear" and rule == _NATIVE and not node.attributes.get_int("antialias", 0):
            continue
        if rule == "tf_crop_and_resize" or sizes[:-2] != wanted[:-2] or node.inputs[0].dtype != onnx_ir.DataType.FLOAT:
            continue
        _multiplied(node, list(sizes), list(wanted))
        done += 1
    return done


def _multiplied(node: onnx_ir.Node, sizes: list[int], wanted: list[int]) -> None:
    value, like, shape = node.inputs[0], node.outputs[0], list(sizes)
    if sizes[-1] != wanted[-1]:
        shape[-1] = wanted[-1]
        right = editing.known(node.graph, _weights(node, sizes[-1], wanted[-1], sizes, wanted, -1), like)
        value = editing.before(node, "MatMul", [value, right], shape=shape)
    if sizes[-2] != wanted[-2]:
        shape[-2] = wanted[-2]
        left = editing.known(node.graph, _weights(node, sizes[-2], wanted[-2], sizes, wanted, -2).T, like)
        value = editing.before(node, "MatMul", [left, value], shape=shape)
    editing.replace(node, "Identity", [value])


def _weights(node: onnx_ir.Node, size: int, wanted: int, sizes: list[int], targets: list[int], axis: int) -> np.ndarray:
    """The matrix of an interpolation along one axis: what ONNX Runtime's own Resize makes of single ones."""
    import onnx
    import onnxruntime

    scales = editing.constant(node.inputs[2]) if len(node.inputs) > 2 else None
    exact = scales is not None and scales.size == len(sizes)
    attributes = {name: a.value for name, a in node.attributes.items() if name != "axes"}
    inputs = ["x", "", "scales"] if exact else ["x", "", "", "sizes"]
    made = onnx.helper.make_node("Resize", inputs, ["y"], **attributes)
    given = (
        onnx.numpy_helper.from_array(np.asarray([1, 1, 1, scales[axis]], np.float32), "scales")
        if exact
        else onnx.numpy_helper.from_array(np.asarray([size, 1, 1, wanted], np.int64), "sizes")
    )
    kind = onnx.TensorProto.FLOAT
    graph = onnx.helper.make_graph(
        [made],
        "weights",
        [onnx.helper.make_tensor_value_info("x", kind, [size, 1, 1, size])],
        [onnx.helper.make_tensor_value_info("y", kind, None)],
        [given],
    )
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 19)], ir_version=10)
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    ones = np.eye(size, dtype=np.float32).reshape(size, 1, 1, size)
    return session.run(None, {"x": ones})[0].reshape(size, -1)

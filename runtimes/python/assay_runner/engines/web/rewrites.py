"""Rewriting steps that only the web platforms need, of the same kind as those of the export, which all share."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np
import onnx_ir

from assay_runner.exporting import steps
from assay_runner.exporting.steps import (
    Step,
    clips,
    columns,
    editing,
    fewer_axes,
    functions,
    gathers,
    groups,
    remainders,
    scatters,
)
from assay_runner.workarounds import Fault

from . import channels, convolutions, elements, gelus, integers, ranks, spatial, truths, volumes, windows

_INT64 = onnx_ir.DataType.INT64


def gathers_of_one_value(model: onnx_ir.Model) -> int:
    """What is gathered of a constant that is the same everywhere is known, whatever the indices."""
    done = 0
    for node in editing.nodes(model, "GatherElements", "Gather", "GatherND"):
        array, target = editing.constant(node.inputs[0]), editing.shape(node.outputs[0])
        if array is None or not array.size or target is None or (array != array.flat[0]).any():
            continue
        known = editing.known(node.graph, np.full(target, array.flat[0]), node.outputs[0])
        known.dtype = node.outputs[0].dtype
        done += editing.bypass_to(node, known)
    return done


def gathers_along_one_axis(model: onnx_ir.Model) -> int:
    """GatherND becomes a Gather of rows, whose number is computed of its indices."""
    done = 0
    for node in editing.nodes(model, "GatherND"):
        data, index = node.inputs
        shape, places = editing.shape(data), editing.shape(index)
        if shape is None or places is None or node.attributes.get_int("batch_dims", 0):
            continue
        depth = places[-1]
        rows = _row_numbers(node, index, shape[:depth], places)
        editing.replace(node, "Gather", [gathers.table(node, depth), rows], {"axis": 0})
        done += 1
    return done


def _row_numbers(node: onnx_ir.Node, index: onnx_ir.Value, sizes: tuple[int, ...], places: tuple[int, ...]) -> Any:
    """The number of the row that each group of indices names, counted from the end where one is negative."""
    like, kind = node.outputs[0], index.dtype
    dtype = kind.numpy()
    index = scatters.counted_from_the_start(node, index, sizes, places)
    strides = editing.known(node.graph, np.asarray([prod(sizes[i + 1 :]) for i in range(len(sizes))], dtype), like)
    far = editing.before(node, "Mul", [index, strides], shape=places, dtype=kind)
    last = editing.known(node.graph, np.asarray([-1], np.int64), like)
    return editing.before(node, "ReduceSum", [far, last], {"keepdims": 0}, shape=places[:-1], dtype=kind)


def largest_by_comparing(model: onnx_ir.Model) -> int:
    """ArgMax becomes the first place whose value is the largest one."""
    done = 0
    for node in editing.nodes(model, "ArgMax"):
        source, target = node.inputs[0], node.outputs[0]
        wide = editing.shape(source)
        if wide is None or node.attributes.get_int("select_last_index", 0):
            continue
        axis, keep = node.attributes.get_int("axis", 0) % len(wide), node.attributes.get_int("keepdims", 1)
        kept = [1 if i == axis else size for i, size in enumerate(wide)]
        axes = editing.known(node.graph, np.asarray([axis], np.int64), target)
        largest = editing.before(node, "ReduceMax", [source, axes], {"keepdims": 1}, kept, source.dtype)
        same = editing.before(node, "Equal", [source, largest], shape=wide, dtype=onnx_ir.DataType.BOOL)
        order = np.arange(wide[axis], dtype=np.float32).reshape([-1 if i == axis else 1 for i in range(len(wide))])
        places = editing.known(node.graph, order, target)
        beyond = editing.known(node.graph, np.asarray(wide[axis], np.float32), target)
        chosen = editing.before(node, "Where", [same, places, beyond], None, wide, onnx_ir.DataType.FLOAT)
        shape = kept if keep else [size for i, size in enumerate(wide) if i != axis]
        first = editing.before(node, "ReduceMin", [chosen, axes], {"keepdims": keep}, shape, onnx_ir.DataType.FLOAT)
        editing.replace(node, "Cast", [first], {"to": _INT64.value})
        done += 1
    return done


_WEB, _SEEN = "onnxruntime-web", ("1.30.0",)

_GATHERS = Fault(
    "webnn_gathers_elements_by_constants_only", _WEB, _SEEN, "WebNN gathers elements by constant indices only"
)

STEPS = (
    Step("products by expert of all rows", groups.SHAPES, groups.over_all_rows),
    Step("sorted by counting", "WebNN does not sort", ranks.count),
    Step(
        "approximate GELU written out",
        Fault(
            "webnn_gives_the_exact_gelu", _WEB, _SEEN, "WebNN gives the exact GELU where its approximation is asked for"
        ),
        gelus.written_out,
    ),
    Step("gathers of one value are known", _GATHERS, gathers_of_one_value),
    Step("elements gathered of the flat tensor", _GATHERS, elements.gather),
    Step("rows chosen instead of scattered", "it takes fewer operators than comparing", scatters.rows_to_choices),
    Step(
        "elements scattered by comparing",
        Fault("webnn_scatters_by_constants_only", _WEB, _SEEN, "WebNN scatters by constant indices only"),
        scatters.by_comparing,
    ),
    Step(
        "choices and slices of few axes",
        Fault(
            "webnn_chooses_along_four_axes",
            _WEB,
            _SEEN,
            "WebNN's back ends choose along four axes at most",
            "seen on an Intel Xeon and not on an AMD EPYC",
        ),
        fewer_axes.few({"Where": 4, "Slice": 5}),
    ),
    # Not seen any more with ONNX Runtime Web 1.30 in Chromium on a CPU; WebNN has other back ends.
    Step("slices in steps are gathers", "WebNN's slices need steps that divide the size", spatial.strided_slices),
    Step(
        "pads of edges are gathers",
        Fault("webnn_pads_no_edges", _WEB, _SEEN, "WebNN's back ends cannot pad with edges"),
        spatial.edge_pads,
    ),
    Step(
        "transposed convolutions are plain",
        Fault(
            "webnn_transposes_no_grouped_convolutions",
            _WEB,
            _SEEN,
            "WebNN's back ends transpose convolutions without groups or padding only",
        ),
        convolutions.plain,
    ),
    Step(
        "pools along two axes",
        Fault("webnn_pools_along_two_axes", _WEB, _SEEN, "WebNN pools along two axes only"),
        windows.along_two_axes,
    ),
    Step(
        "blocks of images transposed",
        Fault("webnn_makes_no_images_of_columns", _WEB, _SEEN, "WebNN has no Col2Im"),
        columns.to_transposes,
    ),
    Step(
        "convolutions along two axes",
        Fault("webnn_convolves_along_two_axes", _WEB, _SEEN, "WebNN convolves along two axes at most"),
        volumes.flatten,
    ),
    Step(
        "channels filled up to fours",
        Fault(
            "webgpu_convolves_threes_wrongly",
            _WEB,
            _SEEN,
            "WebGPU convolves 6, 9, 15 and other multiples of three channels wrongly, unless four divide them too",
        ),
        channels.fill,
    ),
    Step(
        "resizes are products of matrices",
        Fault("webnn_resizes_by_one_rule", _WEB, _SEEN, "WebNN resizes by one rule only"),
        spatial.resizes,
    ),
    Step("places of the largest by comparing", "WebGPU gives them in 64 bits only", largest_by_comparing),
    Step("gathers along one axis", "WebGPU's GatherND needs 64-bit indices", gathers_along_one_axis),
    Step(
        "whole numbers negated by subtracting",
        Fault("webgpu_negates_no_whole_numbers", _WEB, _SEEN, "WebGPU cannot negate integers"),
        functions.plainer("Neg"),
    ),
    Step(
        "clips by comparing",
        Fault("webnn_clips_no_whole_numbers", _WEB, _SEEN, "neither WebNN nor WebGPU clips integers"),
        clips.to_limits,
    ),
    Step(
        "remainders by quotients",
        Fault("webnn_takes_no_remainders", _WEB, _SEEN, "WebNN has no Mod"),
        remainders.by_quotients,
    ),
    Step(
        "inverse sines by logarithms",
        Fault("webnn_has_no_asinh", _WEB, _SEEN, "WebNN has no Asinh"),
        functions.plainer("Asinh"),
    ),
    # After all others: some of them choose, and some cast.
    Step("truth values chosen by logic", "ONNX Runtime has no Where of booleans, on no engine", truths.choose),
    Step(
        "truth values by comparing",
        Fault(
            "webnn_casts_truth_values_to_bytes",
            _WEB,
            _SEEN,
            "WebNN casts numbers to bytes where booleans are asked for: 0.5 and -1e38 become false, 2 stays 2",
        ),
        truths.compare,
    ),
    Step(
        "truth values multiplied",
        Fault(
            "webgpu_broadcasts_all_conjunctions_alike",
            _WEB,
            _SEEN,
            "WebGPU's And repeats every operand along the axes that the page's first And repeated",
        ),
        truths.multiply,
    ),
)
NARROWING = Step("whole numbers in 32 bits", "WebGPU has no others", integers.narrow)


def apply(model: onnx_ir.Model, narrow: bool = True) -> list[dict[str, Any]]:
    """Applies all steps, the narrowing of whole numbers only if asked for, and gives those that changed something."""
    return steps.apply(model, (*STEPS, *([NARROWING] if narrow else [])))

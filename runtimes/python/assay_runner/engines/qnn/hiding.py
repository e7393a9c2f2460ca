"""Keeps nodes of a graph off an accelerator whose compiler cannot finish them.

A provider asks for every node that it knows, and when its compiler then fails no node of that part runs anywhere.
Nothing in a graph says "not there", but providers look at the main graph only: a loop of one step around a node hides
it, at the cost of a copy. Its inputs go through the loop as values that it carries, so that the order of the nodes
outside stays known.

Which node stops the compiler is found by halving: the shortest beginning of the graph that fails ends with it.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable

import onnx
from onnx import TensorProto, helper

ONCE, FIRST = "assay.once", "assay.first"
MARK = ".on_host"
"""In the names of the nodes that hide others."""


def hidden(model: onnx.ModelProto, names: Iterable[str]) -> onnx.ModelProto:
    """A copy of a model with these nodes in loops of one step."""
    chosen, result = set(names), copy.deepcopy(model)
    types = _types(model)
    nodes = []
    for node in model.graph.node:
        nodes += _looped(node, types) if node.name in chosen else [node]
    del result.graph.node[:]
    result.graph.node.extend(nodes)
    result.graph.initializer.extend(
        [helper.make_tensor(ONCE, TensorProto.INT64, [], [1]), helper.make_tensor(FIRST, TensorProto.INT64, [1], [0])]
    )
    return result


def _looped(node: onnx.NodeProto, types: dict[str, onnx.ValueInfoProto]) -> list[onnx.NodeProto]:
    inside = copy.deepcopy(node)
    given = [name for name in dict.fromkeys(node.input) if name]
    carried = {name: f"{name}{MARK}.{node.name}" for name in given}
    inside.input[:] = [carried.get(name, name) for name in node.input]
    inside.output[:] = [f"{name}{MARK}" if name else "" for name in node.output]
    results = [name for name in node.output if name]
    on, off = f"{node.name}.on", f"{node.name}.off"
    flag = [helper.make_tensor_value_info(name, TensorProto.BOOL, []) for name in (on, off)]
    body = helper.make_graph(
        [
            helper.make_node("Identity", [on], [off], name=f"{node.name}{MARK}.flag"),
            *(helper.make_node("Identity", [name], [f"{name}.again"], name=name) for name in carried.values()),
            inside,
        ],
        f"{node.name}{MARK}",
        [helper.make_tensor_value_info(f"{node.name}.step", TensorProto.INT64, []), flag[0]]
        + [_named(types[name], inner) for name, inner in carried.items()],
        [flag[1]]
        + [_named(types[name], f"{inner}.again") for name, inner in carried.items()]
        + [_named(types[name], f"{name}{MARK}") for name in results],
    )
    rows = [f"{name}.rows" for name in results]
    last = [f"{inner}.last" for inner in carried.values()]
    loop = helper.make_node("Loop", [ONCE, "", *given], last + rows, name=f"{node.name}{MARK}", body=body)
    back = [
        helper.make_node("Squeeze", [row, FIRST], [name], name=f"{name}{MARK}.back")
        for row, name in zip(rows, results, strict=True)
    ]
    return [loop, *back]


def _types(model: onnx.ModelProto) -> dict[str, onnx.ValueInfoProto]:
    graph = onnx.shape_inference.infer_shapes(model).graph
    constants = [helper.make_tensor_value_info(t.name, t.data_type, t.dims) for t in graph.initializer]
    return {value.name: value for value in (*constants, *graph.value_info, *graph.input, *graph.output)}


def _named(value: onnx.ValueInfoProto, name: str) -> onnx.ValueInfoProto:
    made = copy.deepcopy(value)
    made.name = name
    return made


def beginning(model: onnx.ModelProto, count: int) -> onnx.ModelProto:
    """The first nodes of a model, which gives what the rest of it would take."""
    result = copy.deepcopy(model)
    types = _types(model)
    nodes = model.graph.node[:count]
    made = {name for node in nodes for name in node.output if name}
    taken = {name for node in model.graph.node[count:] for name in node.input}
    taken.update(value.name for value in model.graph.output)
    del result.graph.node[:], result.graph.output[:]
    result.graph.node.extend(nodes)
    result.graph.output.extend(types[name] for name in types if name in made & taken)
    return result


def culprit(model: onnx.ModelProto, compiles: Callable[[onnx.ModelProto], bool]) -> str:
    """The node with which the shortest failing beginning of a model ends."""
    good, bad = 0, len(model.graph.node)
    while bad - good > 1:
        middle = (good + bad) // 2
        if compiles(beginning(model, middle)):
            good = middle
        else:
            bad = middle
    return model.graph.node[bad - 1].name

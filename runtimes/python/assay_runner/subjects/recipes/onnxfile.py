"""The recipe of an ONNX file: what its inputs are made of.

A graph says the names, dtypes and shapes of its inputs, and not what they mean. Free axes get sizes by rule: the first
one of an input is the batch, further ones of a picture are its sides, all others a length. What a rule cannot know (a
sampling rate, the range of ids) is said in a file beside it, `NAME.inputs.json`: `{"sizes":{…},"inputs":[…]}` in the
words of any recipe.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from assay_runner.errors import BadRecipe, UnreadableModel

SIDECAR = ".inputs.json"
_LENGTH, _SIDE = 16, 64
_PICTURE = 4  # axes: batch, channels, height, width
_PIECE = 1 << 20


def recipe(path: Path) -> dict[str, Any]:
    """The recipe of the graph in a file."""
    import onnx

    try:
        model = onnx.load(path, load_external_data=False)
        onnx.checker.check_model(path)  # by its path: large weights lie beside it
    except Exception as error:  # noqa: BLE001 - protobuf, the checker and the file system raise what they like
        raise UnreadableModel(f"{path.name} is not a readable ONNX model: {_line(error)}") from error
    held = {tensor.name for tensor in model.graph.initializer}
    given = _given(path)
    specs = given.get("inputs") or [_spec(value) for value in model.graph.input if value.name not in held]
    return {
        "type": "onnx",
        "class": "onnx",
        "task": "",
        "size": "full",
        "checkpoint": path.name,
        "config": {"sha256": _digest(path)},
        "sizes": {"seq": _LENGTH, "image": _SIDE} | given.get("sizes", {}),
        "inputs": specs,
        "call": {},
        "gain": 1.0,
        "control": {"kind": "other-input"},
        "graph": str(path),
        "parameters": sum(_elements(tensor) for tensor in model.graph.initializer),
    }


def _given(path: Path) -> dict[str, Any]:
    file = path.with_name(path.name.removesuffix(".onnx") + SIDECAR)
    if not file.is_file():
        return {}
    try:
        said = json.loads(file.read_bytes())
        if not isinstance(said, dict):
            raise ValueError("it is not an object")
    except ValueError as error:
        raise BadRecipe(f"{file.name} cannot be read: {error}") from error
    return said


def _spec(value: Any) -> dict[str, Any]:
    import onnx

    kind = value.type.tensor_type
    try:
        dtype = onnx.helper.tensor_dtype_to_np_dtype(kind.elem_type).name
    except KeyError as error:
        raise BadRecipe(f"input {value.name!r} is not a tensor: only graphs of tensors can be run") from error
    shape = [_axis(i, axis, len(kind.shape.dim)) for i, axis in enumerate(kind.shape.dim)]
    drawn = {"kind": "float"} if dtype.startswith("float") else {"kind": "ids", "low": 0, "high": 2}
    return {"name": value.name, "dtype": dtype, "shape": shape, **drawn}


def _axis(index: int, axis: Any, axes: int) -> int | str:
    if axis.dim_value > 0:
        return axis.dim_value
    if index == 0 or "batch" in axis.dim_param:
        return "batch"
    return "image" if axes == _PICTURE else "seq"


def _elements(tensor: Any) -> int:
    total = 1
    for axis in tensor.dims:
        total *= axis
    return total


def _digest(path: Path) -> str:
    total = hashlib.sha256()
    with path.open("rb") as stream:
        while piece := stream.read(_PIECE):
            total.update(piece)
    return total.hexdigest()


def _line(error: BaseException) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0][:200]

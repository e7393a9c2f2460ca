"""Models held open for the program: a child of the runner that answers requests until it is told to end.

The program connects nothing: the child connects to the address that its job names, says the job's secret, and then
answers frames, one at a time: four bytes with the length, and JSON. `load` puts a model into the child under a key;
`run`, `batch` and `generate` are those of `Model`; `release` gives one model back. Models that are loaded into one
child share the parts that are the same (`sharing`).

Inputs come from strangers: a picture or a sound is a file in base64, and no string is ever taken for a path.
"""

from __future__ import annotations

import base64
import binascii
import io
import json
import math
import socket
import struct
import tempfile
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from PIL import Image, UnidentifiedImageError

from . import loading, platforms, sharing
from .errors import AssayError, BadInput, Unavailable, UnknownModel, Unsupported, told
from .model import NEW_TOKENS, Model
from .natural import readers
from .subjects import Subject

_LENGTH = struct.Struct(">I")
_MOST = 64 << 20  # bytes of a frame
_KINDS = {UnknownModel: "unknown-model", Unavailable: "unavailable", Unsupported: "unsupported", BadInput: "bad-input"}


def run(job: Mapping[str, Any], emit: Any) -> None:
    """Answers until the program hangs up."""
    host, _, port = job["options"]["address"].rpartition(":")
    with socket.create_connection((host, int(port))) as line:
        line.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        _send(line, {"secret": job["options"]["secret"]})
        holder = Holder()
        while (asked := _next(line)) is not None:
            _send(line, holder.answer(asked))
    emit.data({"ended": True})


class Holder:
    """The models of one child."""

    def __init__(self) -> None:
        self._models: dict[str, Model] = {}
        self._shared = sharing.Shared()

    def answer(self, asked: Mapping[str, Any]) -> dict[str, Any]:
        """The answer to a frame: a value, or which kind of error it is."""
        try:
            value = _OPS[asked["op"]](self, asked)
        except AssayError as error:
            return self._refused(_KINDS.get(type(error), "unsupported"), error)
        except Exception as error:
            return self._refused("failed", error)
        return {"value": value, "device_bytes": _device_bytes()}

    @staticmethod
    def _refused(kind: str, error: Exception) -> dict[str, Any]:
        words = " ".join(str(error).split()) or type(error).__name__
        if kind == "failed":
            words = f"{type(error).__name__}: {words}"
        return {"kind": kind, "error": words[:2000], "device_bytes": _device_bytes()}

    def load(self, asked: Mapping[str, Any]) -> Any:
        """Loads a model and tells its settings."""
        cell, weights = asked["cell"], asked.get("weights") or {}
        folder = weights.get("folder", "")
        subject = Subject(asked["name"], asked["recipe"], cell.get("family") or "other", cell["weights"], folder)
        known = platforms.every()[cell["platform"]]
        target = platforms.Target(known, cell.get("device") or known.device, tuple(asked.get("pages") or ()))
        if cell["engine"] != known.engine:
            raise Unsupported(f"models are kept loaded on {known.engine}, and {cell['engine']} was asked for")
        reader, notes = readers.reader(subject)
        try:
            placed = loading.Placed(loading.opened(subject, target, cell["dtype"]), target, cell["dtype"])
        except AssayError:
            raise
        except Exception as error:
            raise told(error)[0] from error
        parts = self._shared.adopted(asked["key"], placed.engine)
        model = Model(subject, asked.get("asked") or str(target), placed, reader, [*subject.notes, *notes])
        self._models[asked["key"]] = model
        return {"settings": model.settings(), "parts": parts}

    def run(self, asked: Mapping[str, Any]) -> Any:
        """One input, natural or by name."""
        model, args = self._models[asked["key"]], asked["args"]
        if args.get("arrays") is not None:
            named = {name: np.asarray(value) for name, value in args["arrays"].items()}
            return plain(model.run(**named))
        return plain(model.run(natural(args["input"], model.modalities)))

    def batch(self, asked: Mapping[str, Any]) -> Any:
        """Several inputs."""
        model = self._models[asked["key"]]
        return plain(model.batch([natural(x, model.modalities) for x in asked["args"]["inputs"]]))

    def generate(self, asked: Mapping[str, Any]) -> Any:
        """A text that goes on."""
        model, args = self._models[asked["key"]], asked["args"]
        x = natural(args["input"], model.modalities)
        return plain(model.generate(x, max_new_tokens=args.get("max_new_tokens") or NEW_TOKENS))

    def release(self, asked: Mapping[str, Any]) -> Any:
        """Gives a model back, and the parts that no other uses."""
        if (model := self._models.pop(asked["key"], None)) is not None:
            model.release()
        self._shared.returned(asked["key"])
        return None


_OPS: Mapping[str, Callable[[Holder, Mapping[str, Any]], Any]] = {
    "load": Holder.load,
    "run": Holder.run,
    "batch": Holder.batch,
    "generate": Holder.generate,
    "release": Holder.release,
}


MODALITIES = ("text", "image", "video", "audio")
"""What an input may have."""


def natural(x: Any, modalities: tuple[str, ...]) -> Any:
    """A natural input out of JSON. Texts stay; everything else is a file in base64, or numbers."""
    if isinstance(x, Mapping):
        if strange := [name for name in x if name not in MODALITIES]:
            raise BadInput(
                f"an input has {', '.join(MODALITIES[:-1])} or {MODALITIES[-1]}, and not {strange[0][:100]!r}"
            )
        return {name: _thing(name, value) for name, value in x.items()}
    if not modalities:
        raise BadInput("this model has no natural input: give its inputs by name, in arrays")
    return _thing(modalities[0], x)


def _thing(kind: str, value: Any) -> Any:
    if kind == "text" or value is None:
        return value
    if kind == "audio":
        return _sound(value) if isinstance(value, str) else np.asarray(value, np.float32)
    if isinstance(value, str):
        return _picture(value)
    if isinstance(value, list) and any(isinstance(one, str) for one in value):
        return [_picture(one) for one in value]
    return np.asarray(value)


def _decoded(text: Any) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError, TypeError) as error:
        raise BadInput(f"images and sounds are files in base64: {error}") from error


def _picture(text: Any) -> Image.Image:
    try:
        with Image.open(io.BytesIO(_decoded(text))) as opened:
            opened.load()
            return opened.copy()
    except UnidentifiedImageError as error:  # whose words name an object of ours
        raise BadInput("this is no image that can be read") from error
    except (OSError, Image.DecompressionBombError) as error:
        raise BadInput(f"this is no image that can be read: {error}") from error


def _sound(text: str) -> Any:
    """Samples of a wav file: its reader takes files, so that it is one for a moment."""
    from .natural import material

    with tempfile.NamedTemporaryFile(suffix=".wav") as file:
        file.write(_decoded(text))
        file.flush()
        try:
            return material.sound(file.name, RATE)
        except BadInput as error:  # whose words name a file of ours
            raise BadInput("this is no wav file that can be read") from error


RATE = 16000
"""Of sounds that come in files: nearly every model of speech has it."""


def plain(value: Any) -> Any:
    """An output as JSON has it: arrays as lists, numbers that are none as null."""
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    if isinstance(value, np.generic):
        return plain(value.item())
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(name): plain(one) for name, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(one) for one in value]
    if isinstance(value, Image.Image):
        return plain(np.asarray(value))
    return value


def _device_bytes() -> int | None:
    """What torch holds of GPUs' memory; None where it has none."""
    import torch

    if not torch.cuda.is_initialized():
        return None
    return sum(torch.cuda.memory_reserved(i) for i in range(torch.cuda.device_count()))


def _next(line: socket.socket) -> Any:
    head = _exactly(line, _LENGTH.size)
    if head is None:
        return None
    (length,) = _LENGTH.unpack(head)
    if length > _MOST:
        raise ValueError(f"a frame of {length} bytes is too long")
    body = _exactly(line, length)
    return None if body is None else json.loads(body)


def _exactly(line: socket.socket, length: int) -> bytes | None:
    """This many bytes; None where the other side hung up."""
    found = bytearray()
    while len(found) < length:
        more = line.recv(min(length - len(found), 1 << 20))
        if not more:
            return None
        found += more
    return bytes(found)


def _send(line: socket.socket, value: Any) -> None:
    body = json.dumps(value, allow_nan=False).encode()
    if len(body) > _MOST:
        body = json.dumps(
            {"kind": "bad-input", "error": f"the output has {len(body)} bytes, more than {_MOST}: ask for less"}
        ).encode()
    line.sendall(_LENGTH.pack(len(body)) + body)

"""Reads from an exporter's error where it stopped: the operator, or the line of the model's code."""

from __future__ import annotations

import re
import traceback
from collections.abc import Iterator
from pathlib import Path

_OPERATOR = (
    re.compile(r"No ONNX function found for <OpOverload\(op='([\w.]+)'"),
    re.compile(r"call_function\[target=torch\.ops\.([\w.]+)\]"),
    re.compile(r"Exporting the operator '([\w:]+)' to ONNX"),
    re.compile(r"(?:Could not run|operator) '([\w]+::[\w.]+)'"),
)
_CAUSED_BY = re.compile(r"Caused by: \(([^()\s]+\.py:\d+) in ")
_USER_STACK = re.compile(r'File "([^"]+\.py)", line (\d+), in ')
_LINES_OF_MODELS = re.compile(r"/transformers/(models/|\w+\.py)|/diffusers/models/|/timm/")
_MOST = 300


def chain(error: BaseException) -> Iterator[BaseException]:
    """The error and what caused it, the first cause last."""
    seen: BaseException | None = error
    while seen is not None:
        yield seen
        seen = seen.__cause__ or seen.__context__


def line(error: BaseException) -> str:
    """The first cause in a line, with its type."""
    first = list(chain(error))[-1]
    said = next((part.strip() for part in str(first).splitlines() if part.strip()), "")
    return f"{type(first).__name__}: {said}"[:_MOST]


def where(error: BaseException) -> str:
    """An operator, or file:line as the library's folder has it; empty where nothing says it."""
    texts = [str(one) for one in chain(error)]
    for pattern in _OPERATOR:
        if found := next((m for m in map(pattern.search, texts) if m), None):
            return found[1]
    return _from_traceback(error) or _from_text(texts)


def _from_traceback(error: BaseException) -> str:
    frames = [frame for one in chain(error) for frame in traceback.extract_tb(one.__traceback__)]
    models = [frame for frame in frames if _is_model(frame.filename)]
    return f"{short(models[-1].filename)}:{models[-1].lineno}" if models else ""


def _from_text(texts: list[str]) -> str:
    for text in texts:
        if found := _CAUSED_BY.search(text):
            return found[1]
        files = [m for m in _USER_STACK.finditer(text) if _is_model(m[1])]
        if files:
            return f"{short(files[-1][1])}:{files[-1][2]}"
    return ""


def _is_model(filename: str) -> bool:
    return bool(_LINES_OF_MODELS.search(filename))


def short(filename: str) -> str:
    """The path from its library on."""
    parts = Path(filename).parts
    return "/".join(parts[parts.index("site-packages") + 1 :] if "site-packages" in parts else parts[-3:])

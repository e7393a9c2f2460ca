"""Where an exception comes from: the class and line of the model's own code."""

from __future__ import annotations

from pathlib import PurePath
from types import FrameType, TracebackType
from typing import Any

import torch

_TORCH = str(PurePath(torch.__file__).parent)
_OURS = str(PurePath(__file__).parent.parent)
_MOST = 300


def described(error: BaseException) -> str:
    """The exception in a line, with the class and line of the model that raised it where that is known."""
    text = " ".join(str(error).split())[:_MOST]
    name = type(error).__name__
    where = found(error.__traceback__)
    return f"{name}: {text}" + (f" ({where})" if where else "")


def found(traceback: TracebackType | None) -> str:
    """``BertSelfAttention, modeling_bert.py:123`` for the innermost frame that is neither torch's nor ours."""
    place = ""
    while traceback is not None:
        frame = traceback.tb_frame
        file = frame.f_code.co_filename
        if not file.startswith((_TORCH, _OURS, "<")):
            place = ", ".join(filter(None, (_owner(frame), f"{PurePath(file).name}:{traceback.tb_lineno}")))
        traceback = traceback.tb_next
    return place


def _owner(frame: FrameType) -> str:
    owner: Any = frame.f_locals.get("self")
    return type(owner).__name__ if owner is not None else frame.f_code.co_name

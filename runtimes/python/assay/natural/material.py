"""What users have: pictures and sounds, as files or as arrays."""

from __future__ import annotations

import os
import wave
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from ..errors import BadInput

_WIDTHS = {1: (np.uint8, 128.0, 128.0), 2: (np.int16, 0.0, 32768.0), 4: (np.int32, 0.0, 2147483648.0)}


def picture(value: Any) -> Image.Image:
    """A picture in colour, of a file, of PIL, or of an array: height × width × 3, bytes or numbers from 0 to 1."""
    if isinstance(value, Image.Image):
        return value.convert("RGB")
    if isinstance(value, (str, os.PathLike)):
        return _opened(Path(value)).convert("RGB")
    array = np.asarray(value)
    if array.ndim == 2:
        array = np.repeat(array[..., None], 3, -1)
    if array.ndim != 3 or array.shape[-1] != 3 or array.dtype.kind not in "fiub":
        raise BadInput(f"an image must be an array of height × width × 3, and this one has shape {list(array.shape)}")
    if array.dtype.kind == "f":
        array = np.rint(array.clip(0, 1) * 255)
    return Image.fromarray(array.astype(np.uint8))


def _opened(path: Path) -> Image.Image:
    try:
        with Image.open(path) as opened:
            opened.load()
            return opened.copy()
    except OSError as error:
        raise BadInput(f"cannot read the image {path}: {error}") from error


def frames(value: Any) -> list[Image.Image]:
    """The frames of a video: a list of pictures, or an array of frames × height × width × 3. A picture is one frame."""
    if isinstance(value, (list, tuple)) or (isinstance(value, np.ndarray) and value.ndim == 4):
        return [picture(frame) for frame in value]
    return [picture(value)]


def sound(value: Any, rate: int) -> np.ndarray:
    """One channel of sound at a rate: an array at that rate already, or a wav file at any."""
    if not isinstance(value, (str, os.PathLike)):
        array = np.asarray(value, np.float32)
        if array.ndim != 1 or not array.size:
            raise BadInput(f"audio must be a row of samples at {rate} Hz, and this array has shape {list(array.shape)}")
        return array
    samples, own = _recorded(Path(value))
    if own == rate:
        return samples
    length = max(1, round(len(samples) * rate / own))
    return np.interp(np.arange(length) * own / rate, np.arange(len(samples)), samples).astype(np.float32)


def _recorded(path: Path) -> tuple[np.ndarray, int]:
    """The mean of a wav file's channels, from -1 to 1, and its rate."""
    try:
        with wave.open(str(path), "rb") as file:
            raw, width, channels, rate = (
                file.readframes(file.getnframes()),
                file.getsampwidth(),
                file.getnchannels(),
                file.getframerate(),
            )
    except (OSError, EOFError, wave.Error) as error:
        raise BadInput(f"cannot read the wav file {path}: {error}") from error
    if width not in _WIDTHS or not raw:
        raise BadInput(f"{path} has {len(raw)} bytes of {8 * width}-bit samples: 8, 16 and 32 bits are read")
    kind, middle, most = _WIDTHS[width]
    return ((np.frombuffer(raw, kind).reshape(-1, channels).mean(1) - middle) / most).astype(np.float32), rate

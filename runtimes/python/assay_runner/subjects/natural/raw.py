"""Pictures and sounds by rule: what a request to a pipeline is made of. Drawn by streams, the same everywhere."""

from __future__ import annotations

import math

import numpy as np

from assay_runner.subjects import stream

_UNIT = stream.Draw(0.0, 1 / math.sqrt(3.0))  # uniform in -1 to 1
_WIDER = (40, 72)  # pixels by which a picture is higher and wider than what the model sees: it is resized
_BLOCK = 8  # pixels a side of one colour: smooth enough to be resized like a picture
_SWELL_S = 0.37  # a sound comes and goes in this time


def pictures(key: str, count: int, height: int, width: int) -> list[np.ndarray]:
    """Pictures of bytes, height × width × 3, larger than a model's input of that height and width."""
    height, width = height + _WIDER[0], width + _WIDER[1]
    coarse = (count, -(-height // _BLOCK), -(-width // _BLOCK), 3)
    blocks = stream.integers(key, math.prod(coarse), 0, 256).reshape(coarse)
    return list(blocks.repeat(_BLOCK, 1).repeat(_BLOCK, 2)[:, :height, :width].astype(np.uint8))


def sounds(key: str, count: int, samples: int, rate: int) -> list[np.ndarray]:
    """Noise that swells."""
    noise = stream.floats(key, count * samples, _UNIT).reshape(count, samples)
    swell = 0.55 + 0.45 * np.sin(2 * np.pi * np.arange(samples) / (_SWELL_S * rate))
    return list((0.5 * noise * swell).astype(np.float32))

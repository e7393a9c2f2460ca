"""What processors are fed: pictures, videos and sounds, computed, so that they are the same everywhere."""

from __future__ import annotations

import numpy as np

TONE_HZ = 440.0


def picture(height: int, width: int, number: int = 0) -> np.ndarray:
    """A colour picture of bytes: two slopes and a checkerboard, other ones for another number."""
    y, x = np.mgrid[0:height, 0:width]
    slopes = (x * 255 // max(width - 1, 1), y * 255 // max(height - 1, 1))
    board = ((x // 8 + y // 8 + number) % 2) * 255
    return np.stack([*slopes, board], axis=-1).astype(np.uint8)


def video(frames: int, height: int, width: int, number: int = 0) -> np.ndarray:
    """Frames of a checkerboard that changes from one to the next."""
    return np.stack([picture(height, width, number + frame) for frame in range(frames)])


def sound(seconds: float, rate: int, number: int = 0) -> np.ndarray:
    """A tone, higher for another number, that fades."""
    time = np.arange(int(seconds * rate)) / rate
    return (0.5 * np.sin(2 * np.pi * TONE_HZ * (1 + number) * time) * np.exp(-time)).astype(np.float32)

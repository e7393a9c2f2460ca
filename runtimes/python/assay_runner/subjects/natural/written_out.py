"""What processors should give, by the rules of their settings written out in float64: nothing here is theirs.

A processor that does more than its rule here says, or other things, has no rule: then nothing is compared.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

_MODES = {2: "bilinear", 3: "bicubic"}  # PIL's numbers of the filters that torch has too
_MORE = ("do_image_splitting", "do_flip_channel_order", "do_reduce_labels", "include_top", "rescale_offset")
_WHOLE = 384  # pixels a side, from which no share is cut off
_LEAST = 1e-10  # below it the logarithm of a band's energy is cut
GREY = 2.5  # steps between greys that two ways of resizing may be apart, each rounding to bytes twice


def pixels(processor: Any, pictures: Sequence[np.ndarray]) -> torch.Tensor | None:
    """Resized, cut, scaled and normalised, as the settings say."""
    if any(getattr(processor, name, None) for name in _MORE):
        return None
    rows = [_picture(processor, torch.from_numpy(one.astype(np.float64)).permute(2, 0, 1)) for one in pictures]
    return None if any(row is None for row in rows) else torch.stack(rows)


def _picture(processor: Any, x: torch.Tensor) -> torch.Tensor | None:
    size, crop = _sizes(processor)
    if getattr(processor, "do_resize", False):
        target, mode = _target(size, *x.shape[-2:]), _MODES.get(int(processor.resample))
        if target is None or mode is None:
            return None
        for passed in ((x.shape[-2], target[1]), target):  # first along rows, then along columns; bytes in between
            found = torch.nn.functional.interpolate(x[None], passed, mode=mode, antialias=True, align_corners=False)
            x = found[0].round().clamp(0, 255)
    if crop:
        top, left = ((have - want) // 2 for have, want in zip(x.shape[-2:], crop, strict=True))
        if top < 0 or left < 0:
            return None
        x = x[:, top : top + crop[0], left : left + crop[1]]
    if getattr(processor, "do_rescale", False):
        x = x * processor.rescale_factor
    if getattr(processor, "do_normalize", False):
        mean, deviation = (torch.tensor(v, dtype=torch.float64) for v in (processor.image_mean, processor.image_std))
        x = (x - mean[:, None, None]) / deviation[:, None, None]
    return x


def _sizes(processor: Any) -> tuple[dict[str, Any], tuple[int, int] | None]:
    """What pictures are resized to, and cut to. A share that is kept of small ones is a larger size before the cut."""
    size = dict(getattr(processor, "size", None) or {})
    edge, share = size.get("shortest_edge"), getattr(processor, "crop_pct", None)
    if edge and share and edge < _WHOLE:
        return {"shortest_edge": int(edge / share)}, (edge, edge)
    if edge and share:
        return {"height": edge, "width": edge}, None
    crop = dict(processor.crop_size) if getattr(processor, "do_center_crop", False) else {}
    return size, (crop["height"], crop["width"]) if crop else None


def _target(size: dict[str, Any], height: int, width: int) -> tuple[int, int] | None:
    if size.get("height") and size.get("width"):
        return size["height"], size["width"]
    if size.get("shortest_edge") and not size.get("longest_edge"):
        edge = size["shortest_edge"]
        longer = int(edge * max(height, width) / min(height, width))
        return (edge, longer) if height <= width else (longer, edge)
    return None


def tolerance(processor: Any) -> float:
    """How far pixels may be off: a step between greys, as the settings scale it."""
    scale = float(processor.rescale_factor) if getattr(processor, "do_rescale", False) else 1.0
    deviation = min(processor.image_std) if getattr(processor, "do_normalize", False) else 1.0
    return GREY * scale / deviation


def sounds(processor: Any, waves: Sequence[np.ndarray]) -> torch.Tensor | None:
    """Waves as they are or of mean zero and deviation one; the spectrum of whisper's extractor."""
    kind = type(processor).__name__
    if kind == "Wav2Vec2FeatureExtractor":
        rows = [wave.astype(np.float64) for wave in waves]
        if processor.do_normalize:
            rows = [(row - row.mean()) / np.sqrt(row.var() + 1e-7) for row in rows]
        return torch.from_numpy(np.stack(rows))
    if kind == "WhisperFeatureExtractor":
        return torch.from_numpy(np.stack([_spectrum(processor, wave.astype(np.float64)) for wave in waves]))
    return None


def _spectrum(processor: Any, wave: np.ndarray) -> np.ndarray:
    """The logarithm of energies in bands of equal width in pitch, the last frame left out."""
    length, hop = processor.n_fft, processor.hop_length
    padded = np.pad(wave, length // 2, mode="reflect")
    window = 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(length) / length)
    starts = range(0, len(padded) - length + 1, hop)
    energies = np.stack([np.abs(np.fft.rfft(padded[s : s + length] * window)) ** 2 for s in starts])[:-1]
    found = np.log10(np.maximum(_LEAST, energies @ _bands(processor.feature_size, length, processor.sampling_rate)))
    return ((np.maximum(found, found.max() - 8.0) + 4.0) / 4.0).T


def _bands(count: int, length: int, rate: int) -> np.ndarray:
    """Triangles over frequencies, each of area one, at equal distances in Slaney's pitch from 0 Hz to half the rate."""
    step, corner, per = 200.0 / 3, 1000.0, np.log(6.4) / 27.0

    def pitch(hz: float) -> float:
        return hz / step if hz < corner else corner / step + np.log(hz / corner) / per

    marks = np.linspace(0.0, pitch(rate / 2), count + 2)
    hz = np.where(marks < corner / step, marks * step, corner * np.exp(per * (marks - corner / step)))
    bins = np.linspace(0, rate / 2, length // 2 + 1)[:, None]
    rising, falling = (bins - hz[:-2]) / (hz[1:-1] - hz[:-2]), (hz[2:] - bins) / (hz[2:] - hz[1:-1])
    return np.maximum(0, np.minimum(rising, falling)) * (2.0 / (hz[2:] - hz[:-2]))

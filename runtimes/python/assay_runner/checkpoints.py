"""Real weights: where they lie, and what identifies them.

Only safetensors files count. The Hub is asked only when the environment does not
forbid it (HF_HUB_OFFLINE, TRANSFORMERS_OFFLINE, ASSAY_OFFLINE).
"""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

from assay_runner.errors import MissingWeights

_WANTED = ["*.safetensors", "*.safetensors.index.json", "config.json", "generation_config.json"]
_PIECE = 1 << 20
_OFFLINE = ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE", "ASSAY_OFFLINE")


def offline() -> bool:
    """Whether the environment forbids the network."""
    return any(os.environ.get(name, "").lower() in ("1", "true", "yes", "on") for name in _OFFLINE)


def fetch(checkpoint: str) -> str:
    """The folder of a checkpoint of the Hub: from the cache, else downloaded."""
    if not checkpoint:
        raise MissingWeights("the recipe names no checkpoint, so there are no published weights to take")
    from huggingface_hub import snapshot_download

    try:
        return snapshot_download(checkpoint, allow_patterns=_WANTED, local_files_only=offline())
    except Exception as err:  # the client has a dozen types for "not there"; all mean the same here
        raise MissingWeights(f"the weights of {checkpoint} are neither cached nor to be had: {err}") from err


def require(folder: str) -> list[Path]:
    """The safetensors files of a folder; MissingWeights when there are none."""
    path = Path(folder)
    files = sorted(path.glob("*.safetensors")) if path.is_dir() else []
    if not files:
        raise MissingWeights(f"{folder} holds no safetensors file; convert pickled weights first, they could run code")
    if not (path / "config.json").is_file():
        raise MissingWeights(f"{folder} holds no config.json")
    return files


def digest(folder: str) -> str:
    """A hash over the bytes of the weights. The Hub's cache names files by their own hash, which saves reading them."""
    total = hashlib.sha256()
    for file in require(folder):
        target = file.resolve()
        named = target.parent.name == "blobs" and len(target.name) == 64
        own = target.name if named else _file_digest(target)
        total.update(f"{file.name} {own}\n".encode())
    return total.hexdigest()


def _file_digest(path: Path) -> str:
    # Not hashlib.file_digest: Python 3.10 does not have it.
    total = hashlib.sha256()
    with path.open("rb") as stream:
        while piece := stream.read(_PIECE):
            total.update(piece)
    return total.hexdigest()

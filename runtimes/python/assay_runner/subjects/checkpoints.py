"""Real weights in a folder: which files they are, and what identifies them.

Assay has put them there and checked them before a child is started; nothing here
asks a network. Safetensors come first, in the order in which transformers looks for
them; a pickle counts only where the job allows it, since reading one can run code.
"""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path

from assay_runner.errors import MissingWeights

_PIECE = 1 << 20
_SHA256 = re.compile(r"[0-9a-f]{64}")
SAFE = ("model.safetensors", "model.safetensors.index.json")
PICKLED = ("pytorch_model.bin", "pytorch_model.bin.index.json")


def files(folder: str, pickle: bool = False) -> list[Path]:
    """The files that hold the weights, in order of name; MissingWeights, in a sentence, when there are none."""
    path = Path(folder)
    if not (path / "config.json").is_file():
        raise MissingWeights(f"{folder} has no config.json")
    for name in SAFE + PICKLED if pickle else SAFE:
        if (path / name).is_file():
            return sorted(_named(path / name))
    raise MissingWeights(f"{folder} has no safetensors file; convert pickled weights first, since they could run code")


def _named(first: Path) -> set[Path]:
    """The file itself, or those that it names when it is an index."""
    if first.suffix != ".json":
        return {first}
    try:
        names = set(json.loads(first.read_bytes())["weight_map"].values())
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise MissingWeights(f"{first} is not an index of weights: {error}") from error
    return {first.parent / name for name in names}


def is_pickled(weights: list[Path]) -> bool:
    """Whether the files of a checkpoint are pickles."""
    return any(file.suffix != ".safetensors" for file in weights)


def digest(weights: list[Path]) -> str:
    """A hash over the bytes of the weights. The Hub's cache names files by their own hash, which saves reading them."""
    total = hashlib.sha256()
    for file in weights:
        target = file.resolve()
        named = target.parent.name == "blobs" and _SHA256.fullmatch(target.name) is not None
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

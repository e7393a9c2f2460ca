"""Parts that several loaded models have in common, held once.

A pipeline of diffusers is put together of parts: a text encoder, an autoencoder, a network. Two pipelines of one
family often have the same text encoder. Parts are compared bit by bit (class, configuration and a digest of all
tensors), so that what is shared cannot change an answer, and the second copy is dropped.
"""

from __future__ import annotations

import gc
import hashlib
from collections.abc import Mapping
from typing import Any

import torch


class Shared:
    """The parts of the models in one process."""

    def __init__(self) -> None:
        self._parts: dict[str, tuple[torch.nn.Module, set[str]]] = {}  # digest → the part, and who uses it

    def adopted(self, key: str, engine: Any) -> list[str]:
        """Gives a model the parts that others have already; the names of those that it shares."""
        shared = []
        model = getattr(engine, "model", None)
        for name, part in list(_parts(model).items()):
            digest = _digest(part)
            if digest in self._parts:
                kept, users = self._parts[digest]
                setattr(model.pipeline, name, kept)
                setattr(model, name, kept)
                users.add(key)
                shared.append(name)
            else:
                self._parts[digest] = (part, {key})
        if shared:
            gc.collect()
        return shared

    def returned(self, key: str) -> None:
        """Forgets a model, and the parts that no other has."""
        for digest, (_, users) in list(self._parts.items()):
            users.discard(key)
            if not users:
                del self._parts[digest]
        gc.collect()


def _parts(model: Any) -> dict[str, torch.nn.Module]:
    """The networks of a pipeline by name; every other model is one part of its own."""
    components: Mapping[str, Any] = getattr(getattr(model, "pipeline", None), "components", None) or {}
    networks = {name: part for name, part in components.items() if isinstance(part, torch.nn.Module)}
    return {name: part for name, part in networks.items() if next(part.parameters(), None) is not None}


def _digest(part: torch.nn.Module) -> str:
    found = hashlib.sha256(f"{type(part).__module__}.{type(part).__qualname__}".encode())
    config = getattr(part, "config", None)
    told = config.to_dict() if hasattr(config, "to_dict") else dict(config or {})
    found.update(repr(sorted((name, repr(value)) for name, value in told.items() if name[:1] != "_")).encode())
    for name, tensor in sorted(part.state_dict().items()):
        found.update(f"{name} {tensor.dtype} {tuple(tensor.shape)} {tensor.device}".encode())
        found.update(tensor.detach().cpu().contiguous().view(torch.uint8).numpy().tobytes() if tensor.numel() else b"")
    return found.hexdigest()

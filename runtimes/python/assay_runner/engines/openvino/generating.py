"""Generation on models of OpenVINO: a stateful decoder, whose cache of past tokens stays inside it, and for models that
have one an encoder that runs once before."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from assay_runner.subjects.generation import PROMPT, greedy
from assay_runner.subjects.streams import Clock

Arrays = Mapping[str, np.ndarray]


@dataclass(frozen=True)
class Encoder:
    """A request of the model that runs once, and the names of its outputs in order."""

    request: Any
    names: Sequence[str]

    def encoded(self, feeds: Arrays) -> dict[str, np.ndarray]:
        """Everything that steps read: what was given, and what the encoder makes of it. A prompt that was given stands
        in place of the encoder's."""
        self.request.infer({name: feeds[name] for name in _inputs(self.request)}, share_inputs=True)
        outputs = (self.request.get_tensor(port).data for port in self.request.model_outputs)
        return {**dict(zip(self.names, outputs, strict=True)), **feeds}


def continued(decoder: Any, encoder: Encoder | None, feeds: Arrays, new: int, clock: Clock) -> dict[str, Any]:
    """Continues a prompt by this many tokens: the logits of each step, and the choices. The decoder is a request."""
    names = _inputs(decoder)
    decoder.reset_state()
    clock.begin()
    read = encoder.encoded(feeds) if encoder else {PROMPT: feeds["input_ids"]}

    def step(ids: np.ndarray, past: int) -> np.ndarray:
        own = {"beam_idx": np.arange(len(ids), dtype=np.int32)}
        own |= {**read, "decoder_input_ids": ids} if encoder else _alone(ids, past)
        decoder.infer({name: own[name] for name in names}, share_inputs=True, share_outputs=True)
        return decoder.get_tensor("logits").data[:, -1].copy()

    return greedy(step, read[PROMPT], new, clock)


def _alone(ids: np.ndarray, past: int) -> dict[str, np.ndarray]:
    """What a step of a decoder reads that has no encoder."""
    batch, seen = ids.shape[0], past + ids.shape[1]
    return {
        "input_ids": ids,
        "attention_mask": np.ones((batch, seen), np.int64),
        "position_ids": np.broadcast_to(np.arange(past, seen), ids.shape).copy(),
    }


def _inputs(request: Any) -> list[str]:
    return [next(iter(port.get_names())) for port in request.model_inputs]

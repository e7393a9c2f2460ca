"""Steps of a generation on a stateful model of OpenVINO, whose cache of past tokens stays inside it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from assay_runner.generation import Clock, greedy


def continued(compiled: Any, request: Any, feeds: Mapping[str, np.ndarray], new: int, clock: Clock) -> dict[str, Any]:
    """Continues the prompt of the feeds by so many tokens: the logits of each step, and what was chosen."""
    names = [next(iter(port.get_names())) for port in compiled.inputs]

    def step(ids: np.ndarray, past: int) -> np.ndarray:
        batch, seen = ids.shape[0], past + ids.shape[1]
        given = {
            "input_ids": ids,
            "attention_mask": np.ones((batch, seen), np.int64),
            "position_ids": np.broadcast_to(np.arange(past, seen), ids.shape).copy(),
            "beam_idx": np.arange(batch, dtype=np.int32),
        }
        request.infer({name: given[name] for name in names}, share_inputs=True, share_outputs=True)
        return request.get_tensor("logits").data[:, -1].copy()

    request.reset_state()
    clock.begin()
    return greedy(step, feeds["input_ids"], new, clock)

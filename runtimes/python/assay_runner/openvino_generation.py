"""The greedy loop over a stateful model of OpenVINO, whose cache of past tokens stays inside it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from assay_runner.generation import IDS, LOGITS, Clock


def continued(compiled: Any, request: Any, feeds: Mapping[str, np.ndarray], new: int, clock: Clock) -> dict[str, Any]:
    """Continues the prompt of the feeds by so many tokens: the logits of each step, and what was chosen."""
    names = [next(iter(port.get_names())) for port in compiled.inputs]
    ids = feeds["input_ids"]
    batch, seen = ids.shape
    logits, chosen = [], []
    request.reset_state()
    clock.begin()
    for _ in range(new):
        given = {
            "input_ids": ids,
            "attention_mask": np.ones((batch, seen), np.int64),
            "position_ids": np.broadcast_to(np.arange(seen - ids.shape[1], seen), ids.shape).copy(),
            "beam_idx": np.arange(batch, dtype=np.int32),
        }
        request.infer({name: given[name] for name in names}, share_inputs=True, share_outputs=True)
        last = request.get_tensor("logits").data[:, -1].copy()
        ids = last.argmax(-1)[:, None].astype(np.int64)
        clock.step()
        logits.append(last)
        chosen.append(ids)
        seen += 1
    return {LOGITS: np.stack(logits, 1), IDS: np.concatenate(chosen, 1)}

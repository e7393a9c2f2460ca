"""The laws that there are."""

from __future__ import annotations

from assay_runner.checking.laws import batching, causal, keeping, kernels_of_attention, modes
from assay_runner.checking.laws.law import Law

LAWS: tuple[Law, ...] = (
    Law("padding", "padding does not change what is not padding", batching.maskable, batching.padding),
    Law("batch", "a batch equals its rows", batching.by_rows, batching.batch),
    Law("cache", "token by token with a cache equals one pass", causal.caches, causal.cache),
    Law("causality", "later tokens do not change earlier outputs", causal.is_causal, causal.causality),
    Law("attention", "eager attention equals sdpa", kernels_of_attention.fused, kernels_of_attention.attention),
    Law("saving", "saving and loading change nothing", keeping.saves, keeping.saving),
    Law("training", "training without dropout equals evaluation", modes.trains, modes.training),
    Law("repetition", "the same seed gives the same bits", keeping.always, keeping.repetition),
)

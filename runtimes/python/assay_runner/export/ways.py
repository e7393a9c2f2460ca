"""The ways to export, in the order in which they are tried."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

import torch

from assay_runner import experts
from assay_runner.export import constants, exporters
from assay_runner.export.subject import Subject


@dataclass(frozen=True)
class Way:
    """One way: by whom, with which inputs as constants, with the model's plainest kernels or its own choice, with free
    axes or fixed ones, and with what the model decides by values left open or fixed (`values`)."""

    exporter: exporters.Exporter
    constants: frozenset[str]
    plain: bool = False
    dynamic: bool = False
    chosen: bool = False

    def label(self) -> str:
        """How the way is named among those that were tried."""
        more = [f"constant {kind}" for kind in sorted(self.constants)]
        more += ["plain kernels"] * self.plain + ["free axes"] * self.dynamic + ["fixed choices"] * self.chosen
        return ", ".join([self.exporter.name(), *more])

    @contextmanager
    def kernels(self, model: torch.nn.Module) -> Iterator[None]:
        """Inside, a model of a plain way computes attention and experts step by step."""
        if not self.plain:
            yield
            return
        with experts.looped(model), eager_attention(model):
            yield


_LAYOUT = frozenset({constants.LAYOUT})
_ALL = frozenset({constants.LAYOUT, constants.MASK})

WAYS = (
    Way(exporters.TRANSFORMERS, frozenset(), dynamic=True),
    Way(exporters.TORCH, frozenset(), dynamic=True),
    Way(exporters.TRANSFORMERS, _LAYOUT),
    Way(exporters.TRANSFORMERS, _ALL),
    Way(exporters.TORCH, _LAYOUT),
    Way(exporters.TRANSFORMERS, _ALL, plain=True),
    Way(exporters.TORCH, _ALL, plain=True),
    Way(exporters.TRANSFORMERS, _ALL, chosen=True),
    Way(exporters.TORCH, _ALL, chosen=True),
)


def possible(subject: Subject, ways: Sequence[Way] | None = None) -> list[Way]:
    """Those of the ways, of WAYS where none are given, that differ for this subject. Where free axes were asked for,
    fixed ones are the last resort."""
    least = _ALL if subject.options.constant_masks else frozenset()
    has = {kind for kind in _ALL if constants.companions(subject.tensors, frozenset({kind}))}
    asked = [way for way in ways or WAYS if way.exporter.here() and (subject.options.dynamic or not way.dynamic)]
    return list(dict.fromkeys(replace(way, constants=(way.constants | least) & has) for way in asked))


@contextmanager
def eager_attention(model: torch.nn.Module) -> Iterator[None]:
    """Inside, attention is written out in its model's own code."""
    configs = {id(module.config): module.config for module in model.modules() if hasattr(module, "config")}
    chosen = [
        (c, c._attn_implementation_internal) for c in configs.values() if hasattr(c, "_attn_implementation_internal")
    ]
    try:
        for config, _ in chosen:
            config._attn_implementation_internal = "eager"
        yield
    finally:
        for config, own in chosen:
            config._attn_implementation_internal = own

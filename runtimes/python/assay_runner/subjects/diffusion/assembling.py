"""Makes the parts that a recipe names, and the pipeline of them.

A part is a row of a recipe: its class, the module that has it, and its configuration.
What kind of part it is decides how it is made: a table from the base class.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Callable, Mapping
from typing import Any

from . import release, tokenizers

WORDS = "assay_words"
"""The module that stands in a recipe for a tokenizer made here."""


def pipeline(recipe: Mapping[str, Any], attention: str | None = None) -> Any:
    """The pipeline of a recipe, with freshly constructed parts."""
    cls = release.find(recipe["class"])
    made = {name: part(row, attention) for name, row in recipe["parts"].items()}
    return cls(**made, **copy.deepcopy(recipe.get("config", {})))


def part(row: Mapping[str, Any] | None, attention: str | None) -> Any:
    """One part; None where the recipe leaves it out."""
    if row is None:
        return None
    if row.get("module") == WORDS:
        return tokenizers.make(row["config"])
    cls = release.find(row["class"], row.get("module", "diffusers"))
    config = copy.deepcopy(dict(row.get("config", {})))
    made = _MAKERS.get(kind_of(cls), _plain)(cls, config, attention)
    _wake(made)
    return made


# What begins at zero and is not left there by training: layers that join a part to others, numbers of a checkpoint.
# At zero a part would change nothing and its check could not fail. By the part's class.
ASLEEP = (
    (re.compile("ControlNet"), re.compile(r"controlnet_.*|.*\.(after_proj|before_proj|conv_out)")),
    (re.compile("PriorTransformer"), re.compile("clip_mean|clip_std")),
)


def _wake(made: Any) -> None:
    """Layers that begin at zero begin as other layers of their kind do, numbers as any random ones."""
    import torch

    for classes, names in ASLEEP:
        if not classes.search(type(made).__name__):
            continue
        for name, layer in made.named_modules():
            if names.fullmatch(name) and hasattr(layer, "reset_parameters"):
                layer.reset_parameters()
        for name, number in made.named_parameters():
            if names.fullmatch(name):
                torch.nn.init.normal_(number)


def _transformer(cls: type, config: dict[str, Any], attention: str | None) -> Any:
    made = cls.config_class(**config)
    if attention is not None:
        made._attn_implementation = attention
    return cls(made)


def _plain(cls: type, config: dict[str, Any], attention: str | None) -> Any:
    return cls(**config)


def _scheduler(cls: type, config: dict[str, Any], attention: str | None) -> Any:
    """Schedulers hold tables that they compute at once, also while a model is only counted."""
    import torch

    with torch.device("cpu"):
        return cls(**config)


_KINDS: tuple[tuple[str, str, str], ...] = (
    ("transformers.", "PreTrainedModel", "encoder"),
    ("diffusers.", "SchedulerMixin", "scheduler"),
    ("diffusers.", "KarrasDiffusionSchedulers", "scheduler"),
    ("transformers.", "PreTrainedTokenizerBase", "tokenizer"),
    ("transformers.", "AutoTokenizer", "tokenizer"),
    ("transformers.", "ProcessorMixin", "processor"),
    ("transformers.", "ImageProcessingMixin", "processor"),
    ("transformers.", "FeatureExtractionMixin", "processor"),
    ("diffusers.", "ModelMixin", "network"),
    ("diffusers.", "ConfigMixin", "network"),
)
"""Module and name of a base class, and the kind of part that its classes are."""


def kind_of(cls: type) -> str:
    """What kind of part a class makes."""
    bases = [(base.__module__, base.__name__) for base in cls.__mro__]
    for module, name, kind in _KINDS:
        if any(where.startswith(module) and base == name for where, base in bases):
            return kind
    return "other"


_MAKERS: dict[str, Callable[[type, dict[str, Any], str | None], Any]] = {
    "encoder": _transformer,
    "scheduler": _scheduler,
}

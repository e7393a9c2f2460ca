"""Faults of transformers."""

import inspect
import re
from importlib import import_module

import pytest

from assay_runner.subjects.shrinking.unstated import UNSTATED

_LACKING = {
    "dropout_rate": ("t5gemma2", "T5Gemma2TextConfig"),
    "initializer_range": ("pix2struct", "Pix2StructTextConfig"),
    "num_key_value_heads": ("moonshine_streaming", "MoonshineStreamingConfig"),
    "rope_theta": ("dbrx", "DbrxAttentionConfig"),
    "shared_expert_intermediate_size": ("qwen3_omni_moe", "Qwen3OmniMoeTalkerTextConfig"),
    "vision_start_token_id": ("qwen2_5_omni", "Qwen2_5OmniThinkerConfig"),
}
"""The name that modelling code reads → its module, and the configuration that has no such name. The table's other names
are None in configurations, or were missing in other releases."""


def _module(name):
    """A module of transformers; skips where this release has none such."""
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        if not str(error.name).startswith("transformers."):
            raise
        return pytest.skip(f"this release has no {name}")


def transformers_reads_what_configurations_lack():
    """Whether every row of the table is still needed; what is not is printed."""
    assert set(_LACKING) <= set(UNSTATED)
    found = {name: _reads_what_is_not_there(name, *where) for name, where in _LACKING.items()}
    print(f"no longer needed: {[name for name, there in found.items() if not there]}")
    return all(found.values())


def _reads_what_is_not_there(name, model, config):
    folder = f"transformers.models.{model}"
    modelling, configuration = (_module(f"{folder}.{part}_{model}") for part in ("modeling", "configuration"))
    reads = re.search(rf"config\.{name}\b", inspect.getsource(modelling)) is not None
    return reads and not hasattr(getattr(configuration, config)(), name)

"""Faults of transformers."""

import inspect
import re
import tempfile
from importlib import import_module
from unittest import mock

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


def transformers_compiles_a_pattern_for_each_tensor():
    """How many regular expressions a load of BERT compiles: one for each tensor and more, all different."""
    from transformers import BertConfig, BertModel

    loading, compiled = _module("transformers.core_model_loading"), set()
    sizes = {"vocab_size": 8, "hidden_size": 8, "num_hidden_layers": 2, "num_attention_heads": 2}
    model = BertModel(BertConfig(**sizes, intermediate_size=8))
    counted = mock.Mock(wraps=re)
    counted.compile.side_effect = lambda *given: compiled.add(given[0]) or re.compile(*given)
    with tempfile.TemporaryDirectory() as folder, mock.patch.object(loading, "re", counted):
        model.save_pretrained(folder)
        BertModel.from_pretrained(folder)
    print(f"{len(compiled)} patterns for {len(model.state_dict())} tensors")
    return len(compiled) >= len(model.state_dict())

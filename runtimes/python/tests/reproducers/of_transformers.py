"""Faults of transformers."""

import inspect
import re
from importlib import import_module

import pytest
import torch

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


def transformers_leaves_parameters_unwritten():
    """The experts of Qwen3-Omni's talker, where memory that nothing was written to is not a number."""
    qwen = _module("transformers.models.qwen3_omni_moe.modeling_qwen3_omni_moe")
    config = qwen.Qwen3OmniMoeTalkerTextConfig(
        hidden_size=16, intermediate_size=16, moe_intermediate_size=16, num_hidden_layers=1, num_attention_heads=2,
        num_key_value_heads=2, head_dim=8, num_experts=2, num_experts_per_tok=1, vocab_size=32,
        shared_expert_intermediate_size=16, rope_parameters={"rope_theta": 1e4, "mrope_section": [2, 1, 1]},
    )  # fmt: skip
    strict = torch.are_deterministic_algorithms_enabled()
    torch.use_deterministic_algorithms(True, warn_only=True)  # torch.empty then gives NaN
    try:
        model = qwen.Qwen3OmniMoeTalkerModel(config)
    finally:
        torch.use_deterministic_algorithms(strict)
    return any(bool(p.isnan().any()) for p in model.parameters())


def transformers_exports_glm_ocr_without_norms():
    """The vision attention, with norms that do something, by its own code and by that of the exporter."""
    utils = _module("transformers.exporters.utils")
    _module("transformers.exporters.exporter_dynamo")
    glm = _module("transformers.models.glm_ocr.modeling_glm_ocr")
    torch.manual_seed(0)
    config = glm.GlmOcrVisionConfig(hidden_size=16, num_heads=2)
    config._attn_implementation = "eager"
    attention = glm.GlmOcrVisionAttention(config).eval()
    attention.q_norm.weight.data.uniform_(0.5, 2.0)
    given = {
        "hidden_states": torch.randn(6, 16),
        "cu_seqlens": torch.tensor([0, 6], dtype=torch.int32),
        "position_embeddings": (torch.ones(6, 8), torch.zeros(6, 8)),
    }
    with torch.no_grad():
        expected = attention(**given)
        with utils.apply_patches("dynamo"):
            found = attention(**given)
    return not torch.allclose(found, expected, atol=1e-5)


def transformers_exports_zeros_for_rows_of_the_lowest_number():
    """Attention with a row that is hidden by the lowest number, by torch and by what its exporter puts in its place."""
    utils = _module("transformers.exporters.utils")
    _module("transformers.exporters.exporter_onnx")
    torch.manual_seed(0)
    x, mask = torch.randn(1, 1, 3, 4), torch.zeros(1, 1, 3, 3)
    mask[..., 2, :] = torch.finfo(torch.float32).min
    expected = torch.nn.functional.scaled_dot_product_attention(x, x, x, attn_mask=mask)
    with utils.apply_patches("onnx"):
        found = torch.nn.functional.scaled_dot_product_attention(x, x, x, attn_mask=mask)
    return not torch.allclose(found, expected, atol=1e-5)


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


def transformers_turns_by_sections_that_are_not_there():
    """HunYuan-VL's rotary embedding, as its default configuration makes it."""
    hunyuan = _module("transformers.models.hunyuan_vl.modeling_hunyuan_vl")
    made = hunyuan.HunYuanVLRotaryEmbedding(hunyuan.HunYuanVLTextConfig())
    try:
        made(torch.zeros(1, 2, 8), torch.zeros(1, 2, dtype=torch.int64))
    except TypeError:
        return True
    return False


def transformers_masks_of_ones_open_attention():
    from transformers import Aimv2TextConfig, Aimv2TextModel

    config = Aimv2TextConfig(
        vocab_size=50, hidden_size=16, intermediate_size=32, num_hidden_layers=1, num_attention_heads=2, eos_token_id=49
    )
    torch.manual_seed(0)
    model = Aimv2TextModel(config).eval()
    ids = torch.tensor([[5, 6, 7, 8, 49]])
    found = []
    for kind in ("sdpa", "eager"):
        model.set_attn_implementation(kind)
        with torch.no_grad():
            found.append(model(ids, attention_mask=torch.ones_like(ids)).last_hidden_state)
    return bool((found[0] - found[1]).abs().max() > 1e-3)


def transformers_masks_of_ones_close_attention():
    from transformers import Phi4MultimodalVisionConfig
    from transformers.models.phi4_multimodal.modeling_phi4_multimodal import Phi4MultimodalVisionModel

    config = Phi4MultimodalVisionConfig(
        hidden_size=16, intermediate_size=32, num_hidden_layers=1, num_attention_heads=2, image_size=56, crop_size=56
    )
    torch.manual_seed(0)
    model = Phi4MultimodalVisionModel(config).eval()
    pixels, mask, found = torch.randn(1, 3, 56, 56), torch.ones(1, 4, 4, dtype=torch.bool), []
    for kind in ("sdpa", "eager"):
        model.set_attn_implementation(kind)
        with torch.no_grad():
            found.append(model(pixels, patch_attention_mask=mask).last_hidden_state)
    return bool((found[0] - found[1]).abs().max() > 1e-3)

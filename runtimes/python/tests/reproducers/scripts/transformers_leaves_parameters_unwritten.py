"""Which parameters does no initialisation write to? torch fills memory with NaN here before anything is written."""

import torch
from transformers.models.qwen3_omni_moe import modeling_qwen3_omni_moe as qwen

torch.use_deterministic_algorithms(True, warn_only=True)  # torch.empty gives NaN
sizes = {"hidden_size": 16, "intermediate_size": 16, "moe_intermediate_size": 16, "num_hidden_layers": 1}
heads = {"num_attention_heads": 2, "num_key_value_heads": 2, "head_dim": 8, "vocab_size": 32}
experts = {"num_experts": 2, "num_experts_per_tok": 1, "shared_expert_intermediate_size": 16}
turns = {"rope_theta": 1e4, "mrope_section": [2, 1, 1]}
config = qwen.Qwen3OmniMoeTalkerTextConfig(rope_parameters=turns, **sizes, **heads, **experts)
model = qwen.Qwen3OmniMoeTalkerModel(config)
unwritten = [name for name, p in model.named_parameters() if p.isnan().any()]
print("unwritten:", unwritten)
print("shows" if unwritten else "gone")

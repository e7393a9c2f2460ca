"""A model with a sliding window of two positions: does the last position see the first, nine before it?"""

import torch
from transformers.models.moshi.configuration_moshi import MoshiConfig
from transformers.models.moshi.modeling_moshi import MoshiModel

torch.manual_seed(0)
sizes = {"hidden_size": 16, "ffn_dim": 32, "num_hidden_layers": 1, "num_attention_heads": 2, "vocab_size": 50}
model = MoshiModel(MoshiConfig(sliding_window=2, num_codebooks=2, **sizes)).eval()
ids = torch.arange(1, 11)[None]
other = ids.clone()
other[0, 0] = 30
with torch.no_grad():
    moved = (model(ids).last_hidden_state - model(other).last_hidden_state)[0, -1].abs().max().item()
print(f"the last position moved by {moved:.3g} when the first id changed")
print("shows" if moved > 1e-4 else "gone")

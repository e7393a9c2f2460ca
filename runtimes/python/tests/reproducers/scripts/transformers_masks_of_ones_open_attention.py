"""A causal text encoder given a mask of ones: do earlier tokens change with the last but one?"""

import torch
from transformers import Aimv2TextConfig, Aimv2TextModel

torch.manual_seed(0)
sizes = {"hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2}
model = Aimv2TextModel(Aimv2TextConfig(vocab_size=50, eos_token_id=49, **sizes)).eval()
ids = torch.tensor([[5, 6, 7, 8, 49]])
changed = torch.tensor([[5, 6, 7, 9, 49]])
moved = {}
for kind in ("eager", "sdpa"):
    model.set_attn_implementation(kind)
    with torch.no_grad():
        a, b = (model(x, attention_mask=torch.ones_like(x)).last_hidden_state[:, :3] for x in (ids, changed))
    moved[kind] = (a - b).abs().max().item()
    print(f"{kind}: the first three tokens moved by {moved[kind]:.3g}")
print("shows" if moved["eager"] == 0 and moved["sdpa"] > 1e-3 else "gone")

"""A text padded at its start: what do the tokens give that see nothing?"""

import torch
from transformers import LlamaConfig, LlamaModel

torch.manual_seed(0)
sizes = {"hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2}
model = LlamaModel(LlamaConfig(vocab_size=50, **sizes)).eval()
ids, mask, found = torch.tensor([[0, 0, 7, 8]]), torch.tensor([[0, 0, 1, 1]]), {}
for kind in ("eager", "sdpa"):
    model.set_attn_implementation(kind)
    with torch.no_grad():
        found[kind] = model(ids, attention_mask=mask).last_hidden_state
off = (found["eager"] - found["sdpa"]).abs().amax(-1)[0]
print(f"eager against sdpa, hidden tokens: {off[:2].max():.3g}, visible tokens: {off[2:].max():.3g}")
print("shows" if off[:2].max() > 1e-3 else "gone")

"""A part of BLT that is called on its own, without a mask: does the first position see the last one?"""

import torch
from transformers.models.blt.configuration_blt import BltGlobalTransformerConfig
from transformers.models.blt.modeling_blt import BltGlobalTransformer

sizes = {"hidden_size": 16, "intermediate_size": 16, "num_hidden_layers": 1, "head_dim": 8}
config = BltGlobalTransformerConfig(num_attention_heads=2, num_key_value_heads=2, **sizes)
moved = {}
for kind in ("eager", "sdpa"):
    config._attn_implementation = kind
    torch.manual_seed(0)
    model, x = BltGlobalTransformer(config).eval(), torch.randn(1, 6, 16)
    for p in model.parameters():
        p.data.normal_(0, 0.3) if p.dim() > 1 else None
    with torch.no_grad():
        one, two = (model(y) for y in (x, torch.cat([x[:, :-1], -x[:, -1:]], 1)))
    moved[kind] = (one - two)[:, 0].abs().max().item()
print(f"the first position moved by {moved['eager']:.2g} under eager, {moved['sdpa']:.2g} under sdpa")
print("shows" if moved["eager"] > 1e-3 and moved["sdpa"] == 0 else "gone")

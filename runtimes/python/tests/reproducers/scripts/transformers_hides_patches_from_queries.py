"""Queries that turn an image into words: does the first query see the last patch?"""

import torch
from transformers import Kosmos2Config
from transformers.models.kosmos2.modeling_kosmos2 import Kosmos2ImageToTextProjection

torch.manual_seed(0)
text = {"embed_dim": 16, "attention_heads": 2, "layers": 1, "ffn_dim": 32, "vocab_size": 50}
config = Kosmos2Config(text_config=text, vision_config={"hidden_size": 16}, latent_query_num=4)
moved = {}
for kind in ("eager", "sdpa"):
    config._attn_implementation = config.text_config._attn_implementation = kind
    torch.manual_seed(0)
    layer = Kosmos2ImageToTextProjection(config).eval()
    patches = torch.randn(1, 9, 16)
    other = torch.cat([patches[:, :-1], -patches[:, -1:]], 1)
    with torch.no_grad():
        moved[kind] = (layer(patches)[0] - layer(other)[0])[:, 0].abs().max().item()
    print(f"{kind}: the first query moved by {moved[kind]:.3g} when the last patch changed")
print("shows" if moved["eager"] > 1e-3 and moved["sdpa"] == 0 else "gone")

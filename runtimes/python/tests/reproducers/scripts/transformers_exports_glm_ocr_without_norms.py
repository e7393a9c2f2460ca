"""GLM-OCR's vision attention by its own code, and by what transformers' exporter puts in its place."""

import torch
from transformers.exporters import exporter_dynamo, utils  # noqa: F401 - the first registers the replacements
from transformers.models.glm_ocr import modeling_glm_ocr as glm

torch.manual_seed(0)
config = glm.GlmOcrVisionConfig(hidden_size=16, num_heads=2)
config._attn_implementation = "eager"
attention = glm.GlmOcrVisionAttention(config).eval()
attention.q_norm.weight.data.uniform_(0.5, 2.0)  # as trained norms are: not one
x, ends = torch.randn(6, 16), torch.tensor([0, 6], dtype=torch.int32)
turns = torch.ones(6, 8), torch.zeros(6, 8)
with torch.no_grad():
    own = attention(hidden_states=x, cu_seqlens=ends, position_embeddings=turns)
    with utils.apply_patches("dynamo"):
        exported = attention(hidden_states=x, cu_seqlens=ends, position_embeddings=turns)
off = ((own - exported).abs().max() / own.abs().max()).item()
print(f"off by {off:.2g} of the largest number")
print("shows" if off > 1e-3 else "gone")

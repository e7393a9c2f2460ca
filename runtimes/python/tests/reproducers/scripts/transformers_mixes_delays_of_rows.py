"""Attention by delays, of one row alone and of the same row in a batch, in evaluation."""

import torch
from transformers.models.autoformer.modeling_autoformer import AutoformerAttention

torch.manual_seed(0)
layer = AutoformerAttention(16, num_heads=4, autocorrelation_factor=1).eval()
rows = torch.randn(2, 12, 16)
with torch.no_grad():
    both, alone = layer(rows)[0], torch.cat([layer(rows[i : i + 1])[0] for i in (0, 1)])
off = ((both - alone).abs().amax((1, 2)) / alone.abs().max()).tolist()
print(f"rows of a batch are off by {off[0]:.2g} and {off[1]:.2g} of the largest output")
print("shows" if max(off) > 1e-3 else "gone")

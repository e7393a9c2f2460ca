"""Two images for a vision tower, in one call and each alone."""

import torch
from transformers.models.minimax_m3_vl.configuration_minimax_m3_vl import MiniMaxM3VLVisionConfig
from transformers.models.minimax_m3_vl.modeling_minimax_m3_vl import MiniMaxM3VLVisionModel

torch.manual_seed(0)
sizes = {"hidden_size": 64, "intermediate_size": 64, "num_hidden_layers": 1, "num_attention_heads": 4}
model = MiniMaxM3VLVisionModel(MiniMaxM3VLVisionConfig(image_size=56, **sizes)).eval()
for p in model.parameters():
    p.data.normal_(0, 0.1) if p.dim() > 1 else None
patches, grid = torch.randn(2, 16, 1176), torch.tensor([[1, 4, 4]])
with torch.no_grad():
    both = model(patches.flatten(0, 1), grid_thw=grid.repeat(2, 1)).last_hidden_state.view(2, 16, -1)
    alone = torch.cat([model(one, grid_thw=grid).last_hidden_state for one in patches])
off = ((both - alone).abs().max() / alone.abs().max()).item()
print(f"images in one call are off by {off:.2g} of the largest output")
print("shows" if off > 1e-3 else "gone")
